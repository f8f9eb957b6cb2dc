"""Words that WordNet has above and below a word."""

from __future__ import annotations

import hashlib
import io
import logging
import warnings
from collections.abc import Collection, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from xsent.text.divergences.record import GENERALIZATION
from xsent.text.words import sections

log = logging.getLogger(__name__)

# Where Debian and Ubuntu put WordNet 3.0 (package wordnet-base).
DEBIAN = Path("/usr/share/wordnet")
_PARTS = ("noun", "verb", "adj", "adv")
_NEEDED = (*(f"{kind}.{part}" for part in _PARTS for kind in ("data", "index")), *(f"{part}.exc" for part in _PARTS))
_LEXICOGRAPHER_FILES = 45
# How WordNet marks words that hurt.
_UNWELCOME_USES = {"ethnic_slur", "disparagement", "derogation", "obscenity"}


def part_of_speech(tag: str) -> str | None:
    """WordNet's letter of a Penn tag whose words may be replaced; None of others, names and adverbs among them."""
    if tag in ("NN", "NNS"):
        return "n"
    return {"VB": "v", "JJ": "a"}.get(tag[:2])


class WordNet:
    """Candidates for the place of a word; the files are read when they are first needed.

    Args:
        folder: WordNet 3.0's own files (``data.noun``, ``index.noun``, ``noun.exc`` and so on); None: nltk's corpus
            ``wordnet``, and where there is none, Debian's folder.
        levels_up: a generalisation is at most this many levels above the word.
        levels_down: a particularisation is at least this many levels below it; 1 is right below.
        senses: of each word, its most frequent ones that count; None: all.

    Raises:
        ValueError: a level or a number of senses below 1.

    Source:
        Briakou & Carpuat 2020, section 2.1, and the released code. Differs from it: a candidate is never the word
        itself in another form ("dogs" and "dog"), and none is a slur, an insult or obscene.
    """

    def __init__(self, *, folder: str | None, levels_up: int, levels_down: int, senses: int | None) -> None:
        for name, value in (("levels_up", levels_up), ("levels_down", levels_down), ("senses", senses)):
            if value is not None and value < 1:
                raise ValueError(f"wordnet.{name}={value}: expected 1 or more")
        self._folder = None if folder is None else Path(folder)
        self._levels_up = levels_up
        self._levels_down = levels_down
        self._senses = senses
        self._found: dict[tuple[str, str, str], frozenset[str]] = {}
        self._children: dict[Any, list[Any]] = {}
        self._unwelcome: dict[Any, bool] = {}

    def load(self) -> None:
        """Read the files now, about 2 s, and not in the middle of long work.

        Raises:
            FileNotFoundError: no WordNet here; says how to get it.
        """
        self._reader.ensure_loaded()

    def digest(self) -> str:
        """SHA-256 of the files."""
        content = hashlib.sha256()
        for name in _NEEDED:
            with self._reader.root.join(name).open() as file:
                content.update(file.read())
        return content.hexdigest()

    def candidates(self, word: str, pos: str, kind: str) -> Collection[str]:
        """Single lower-case words that generalise or particularise a word in a sense that counts, by a tree of WordNet.

        Args:
            word: in whatever form; it is looked up in lower case.
            pos: ``n`` noun, ``v`` verb or ``a`` adjective; WordNet has no tree of adjectives, so these have none.
            kind: GENERALIZATION: lemmas of the nearest ancestors on each sense's first path, the root's aside;
                PARTICULARIZATION: lemmas of descendants.
        """
        asked = (word.lower(), pos, kind)
        if asked not in self._found:
            self._found[asked] = self._candidates(*asked)
        return self._found[asked]

    def _candidates(self, word: str, pos: str, kind: str) -> frozenset[str]:
        related = self._above if kind == GENERALIZATION else self._below
        senses = self._reader.synsets(word, pos)[: self._senses]  # the most frequent first
        found = {other for sense in senses for other in related(sense)}
        lemmas = {name for other in found for name in other.lemma_names() if not self._is_unwelcome(other)}
        # The ranker predicts words in lower case, so names and abbreviations would never be chosen.
        single = {name for name in lemmas if name.isalpha() and name.islower()}
        own = self._reader._morphy(word, pos)  # all base forms; the public morphy gives one, for "saw" not "see"
        return frozenset(single - {word, *own} - _unwelcome_words())

    def _is_unwelcome(self, sense: Any) -> bool:
        if sense not in self._unwelcome:
            # In WordNet 3.0 a sense has such a mark itself, or one of its lemmas has.
            marks = [mark.name() for one in (sense, *sense.lemmas()) for mark in one.usage_domains()]
            self._unwelcome[sense] = any(mark.split(".")[0] in _UNWELCOME_USES for mark in marks)
        return self._unwelcome[sense]

    def _above(self, sense: Any) -> Iterator[Any]:
        path = [sense]
        while parents := path[-1].hypernyms() or path[-1].instance_hypernyms():
            # nltk gives them in no order; at the time of the paper it sorted them by name.
            first = min(parents, key=lambda parent: parent.name())
            if first in path:  # WordNet 3.0's verbs have a circle
                break
            path.append(first)
        yield from path[1:-1][: self._levels_up]

    def _below(self, sense: Any) -> Iterator[Any]:
        level = [sense]
        for _ in range(self._levels_down - 1):
            level = [child for one in level for child in self._hyponyms(one)]
        waiting = [child for one in level for child in self._hyponyms(one)]
        seen = set()
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += self._hyponyms(one)
                yield one

    def _hyponyms(self, sense: Any) -> list[Any]:
        if sense not in self._children:
            self._children[sense] = sense.hyponyms()
        return self._children[sense]

    @cached_property
    def _reader(self) -> Any:
        root = self._located()
        log.info("reading WordNet from %s", root)
        return _opened(root)

    def _located(self) -> Any:
        """The folder of the files, or what nltk has in place of it."""
        import nltk.data

        if self._folder is None:
            for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
                try:
                    return nltk.data.find(name)
                except LookupError:
                    continue
        folder = self._folder or DEBIAN
        missing = [name for name in _NEEDED if not (folder / name).is_file()]
        if missing:
            places = "" if self._folder else f"nltk's data folders ({', '.join(nltk.data.path)}) nor in "
            raise FileNotFoundError(
                f"expected WordNet 3.0 in {places}{folder}, found no {missing[0]}. Get it with"
                " `python -m nltk.downloader wordnet`, or `apt install wordnet-base`; without network, take the folder"
                " corpora/wordnet of nltk's data, or /usr/share/wordnet of Debian's package, from another machine, and"
                " name it: divergences.wordnet.folder=FOLDER"
            )
        # nltk reads below its data folders only.
        if str(folder.resolve()) not in nltk.data.path:
            nltk.data.path.append(str(folder.resolve()))
        return str(folder.resolve())


@cache
def _unwelcome_words() -> frozenset[str]:
    return frozenset(word for words in sections("unwelcome").values() for word in words)


def _opened(root: Any) -> Any:
    # nltk takes a while to import, and only these divergences need it.
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Leave out the map between versions of WordNet, 9 s of loading that only other languages need."""

        def open(self, file: str) -> Any:
            """Open a file of the corpus; ``lexnames``, which Debian leaves out, is not read for our purpose."""
            if file == "lexnames":
                return io.StringIO("".join(f"{number} {number} 0\n" for number in range(_LEXICOGRAPHER_FILES)))
            return super().open(file)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The multilingual functions are not available")
        return Reader(root, None)
