"""WordNet candidates for lexical substitution: hypernyms and hyponyms of a word."""

import hashlib
import io
import logging
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from xsent.config_checks import check_integer
from xsent.text.divergences.json_format import GENERALIZATION
from xsent.text.word_lists import load_word_sets

log = logging.getLogger(__name__)

# WordNet 3.0 of Debian and Ubuntu (package wordnet-base).
DEBIAN = Path("/usr/share/wordnet")
_PARTS = ("noun", "verb", "adj", "adv")
_FILES = (*(f"{kind}.{part}" for part in _PARTS for kind in ("data", "index")), *(f"{part}.exc" for part in _PARTS))
_LEXICOGRAPHER_FILES = 45
_OFFENSIVE_DOMAINS = {"ethnic_slur", "disparagement", "derogation", "obscenity"}


def part_of_speech(tag: str) -> str | None:
    """WordNet's letter for a Penn tag of replaceable words; None for others, such as names and adverbs."""
    if tag in ("NN", "NNS"):
        return "n"
    return {"VB": "v", "JJ": "a"}.get(tag[:2])


@dataclass(kw_only=True, eq=False)
class WordNet:
    """Substitution candidates from WordNet; files are read on first use.

    Source:
        Briakou & Carpuat 2020, section 3.2, and the released code. Differs from it: a candidate is never another form
        of the word ("dogs" and "dog"), nor offensive.
    """

    folder: str | None  # of data.noun, index.noun, noun.exc ...; None: nltk's corpus "wordnet", or else Debian's folder
    levels_up: int  # maximum distance of a generalisation above the word
    levels_down: int  # minimum distance of a particularisation below the word; 1 is directly below
    senses: int | None  # number of senses of a word, the most frequent first; None: all

    def __post_init__(self) -> None:
        for name in ("levels_up", "levels_down", "senses"):
            if (value := getattr(self, name)) is not None:
                check_integer(f"wordnet.{name}", value, minimum=1)
        # Caches of this instance, as synsets of different folders are equal.
        self._cached_candidates = cache(self._find_candidates)
        self._hyponyms = cache(lambda synset: synset.hyponyms())
        self._is_offensive = cache(_is_offensive)

    def load(self) -> None:
        """Read the files now, about 2 s.

        Raises:
            FileNotFoundError: WordNet is missing; the message tells how to get it.
        """
        self._reader.ensure_loaded()

    def digest(self) -> str:
        content = hashlib.sha256()
        for name in _FILES:
            with self._reader.root.join(name).open() as file:
                content.update(file.read())
        return content.hexdigest()

    def candidates(self, word: str, pos: str, kind: str) -> Collection[str]:
        """Single lower-case words that are more general or more specific than a word.

        Args:
            pos: ``n`` noun, ``v`` verb or ``a`` adjective (WordNet has no tree of adjectives, so these have none).
            kind: GENERALIZATION: lemmas of the nearest ancestors on each sense's first path, without the root;
                PARTICULARIZATION: lemmas of descendants.
        """
        return self._cached_candidates(word.lower(), pos, kind)

    def _find_candidates(self, word: str, pos: str, kind: str) -> frozenset[str]:
        find_related = self._ancestors if kind == GENERALIZATION else self._descendants
        senses = self._reader.synsets(word, pos)[: self.senses]  # by frequency
        related = {synset for sense in senses for synset in find_related(sense)}
        lemmas = {name for synset in related if not self._is_offensive(synset) for name in synset.lemma_names()}
        # Rankers predict lower-case words, so names and abbreviations would never be chosen.
        single = {name for name in lemmas if name.isalpha() and name.islower()}
        base_forms = self._reader._morphy(word, pos)  # the public morphy gives only one, for "saw" not "see"
        return frozenset(single - {word, *base_forms}).difference(*load_word_sets("unwelcome").values())

    def _ancestors(self, synset: Any) -> Iterator[Any]:
        path = [synset]
        while parents := path[-1].hypernyms() or path[-1].instance_hypernyms():
            # nltk gives them in no order; at the time of the paper it sorted them by name.
            first = min(parents, key=lambda parent: parent.name())
            if first in path:  # WordNet 3.0's verbs have a circle
                break
            path.append(first)
        yield from path[1:-1][: self.levels_up]

    def _descendants(self, synset: Any) -> Iterator[Any]:
        level = [synset]
        for _ in range(self.levels_down):
            level = [child for parent in level for child in self._hyponyms(parent)]
        stack, visited = level, set()
        while stack:
            descendant = stack.pop()
            if descendant not in visited:
                visited.add(descendant)
                stack += self._hyponyms(descendant)
                yield descendant

    @cached_property
    def _reader(self) -> Any:
        root = self._find_root()
        log.info("reading WordNet from %s", root)
        return _open_reader(root)

    def _find_root(self) -> Any:
        """The folder of the files, or nltk's pointer to it."""
        import nltk.data

        if self.folder is None:
            for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
                try:
                    return nltk.data.find(name)
                except LookupError:
                    continue
        folder = DEBIAN if self.folder is None else Path(self.folder)
        missing = [name for name in _FILES if not (folder / name).is_file()]
        if missing:
            searched = "" if self.folder is not None else f"nltk's data folders ({', '.join(nltk.data.path)}) nor in "
            raise FileNotFoundError(
                f"expected WordNet 3.0 in {searched}{folder}, found no {missing[0]}. Get it with"
                " `python -m nltk.downloader wordnet` or `apt install wordnet-base`; without network, copy the folder"
                " corpora/wordnet of nltk's data, or /usr/share/wordnet of Debian's package, from another machine and"
                " set divergences.wordnet.folder=FOLDER"
            )
        # nltk reads only below its data folders.
        if str(folder.resolve()) not in nltk.data.path:
            nltk.data.path.append(str(folder.resolve()))
        return str(folder.resolve())


def _is_offensive(synset: Any) -> bool:
    # In WordNet 3.0 the synset or one of its lemmas has the mark.
    domains = [mark.name() for item in (synset, *synset.lemmas()) for mark in item.usage_domains()]
    return any(name.split(".")[0] in _OFFENSIVE_DOMAINS for name in domains)


def _open_reader(root: Any) -> Any:
    # Imported here because nltk is optional and takes a while to import.
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the map between versions of WordNet: 9 s of loading that only other languages need."""

        def open(self, file: str) -> Any:
            """Open a file of the corpus; ``lexnames``, which Debian lacks, is replaced, as its names are not used."""
            if file == "lexnames":
                return io.StringIO("".join(f"{number} {number} 0\n" for number in range(_LEXICOGRAPHER_FILES)))
            return super().open(file)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The multilingual functions are not available")
        return Reader(root, None)
