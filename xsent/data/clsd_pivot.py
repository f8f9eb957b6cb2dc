"""The test of semantic discrimination with every text in one pivot language, from files or by a translator."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import torch

from xsent.append_only import AppendOnly
from xsent.data.clsd import ClsdSet, checked_rows, clsd_set, corpora, rows_of
from xsent.data.clsd_files import PlacedRow
from xsent.languages import to_iso639_3

log = logging.getLogger(__name__)

# Of the released translations none equals its text. A few may, names and numbers; where more than half do, the file was
# not translated.
UNTRANSLATED = 0.5


class Translation(Protocol):
    """What became of a text."""

    @property
    def text(self) -> str: ...
    @property
    def is_cut(self) -> bool: ...  # the text or its translation was too long for the model


class Translator(Protocol):
    """Translates texts; ``xsent.models.translator.Translator`` does."""

    def check(self, *, source_lang: str, target_lang: str) -> None:
        """Raise ``ValueError``, before any work, for a language that it does not know."""
        ...

    def translate(
        self, texts: Sequence[str], *, source_lang: str, target_lang: str, progress: bool
    ) -> Iterator[Mapping[int, Translation]]:
        """The translations of one batch after the other, by the place of the text."""
        ...

    def digest(self) -> str:
        """Hex digest of everything that decides a translation."""
        ...

    def to(self, device: str | torch.device) -> object:
        """Compute there from now on."""
        ...

    def free(self) -> None:
        """Forget the weights until the next text."""
        ...


class Pivot:
    """Gives the sets of a test with sources and candidates in one pivot language, item for item.

    Args:
        root: translated files, ``MT_...`` of the release, or JSON lines whose texts, all in the pivot language, stand
            under the languages that they were translated from; a folder, or one file for one corpus.
        translator: makes what translates, where there is no ``root``. All translations are kept in ``cache_dir``, batch
            by batch, so that a killed run continues and no text is translated twice. Of several processes one
            translates, and the others wait for it.
        language: the pivot; texts in it stay as they are.
        cache_dir: folder of the translations that are kept.

    Attributes:
        device: where the translator computes.

    Raises:
        ValueError: both ``root`` and ``translator``, or an unknown language.

    Source:
        Michail, Clematide, Sennrich 2025 (arXiv:2502.08638), section 4: both sides in English, by one system.
    """

    def __init__(
        self, *, root: str | None, translator: Callable[[], Translator] | None, language: str, cache_dir: str
    ) -> None:
        if root is not None and translator is not None:
            raise ValueError("evaluator.pivot: expected root or translator, found both")
        self.root = root
        self._make_translator = translator
        self.language = to_iso639_3(language)
        self.cache_dir = Path(cache_dir).expanduser()
        self.device: str | torch.device = "cpu"

    def check(self, sets: Sequence[ClsdSet]) -> None:
        """Find what cannot be done; nothing is translated yet.

        Raises:
            FileNotFoundError: no translated file of a corpus.
            ValueError: a file has other rows than the set, in another order or with another number of distractors, or
                texts that are not translated; the translator does not know a language.
        """
        if self.root is not None:
            self._read(self.root, sets)
        if self._translator is not None:
            for language in self._texts_by_language(sets):
                self._translator.check(source_lang=language, target_lang=self.language)

    def __call__(self, sets: Sequence[ClsdSet]) -> list[ClsdSet] | None:
        """The sets in the pivot language, under the languages of the originals; None: there are neither files nor
        a translator.

        Raises:
            FileNotFoundError, ValueError: as of ``check``.
        """
        if self.root is not None:
            found = self._read(self.root, sets)
        elif self._translator is not None:
            found = self._translated(self._translator, sets)
        else:
            return None
        for one in found:
            _note_equal(one, self.language)
        return found

    # ---- translated files

    def _read(self, root: str, sets: Sequence[ClsdSet]) -> list[ClsdSet]:
        files = corpora(Path(root), translated=True)
        names = list(dict.fromkeys(one.name for one in sets))
        if len(names) == 1 and Path(root).is_file():
            files = dict(zip(names, files.values(), strict=True))  # whatever its name says
        if missing := [name for name in names if name not in files]:
            raise FileNotFoundError(
                f"{root}: expected translated files of {', '.join(missing)}, found {', '.join(files)}"
            )
        rows = {name: checked_rows(files[name], None, distinct=False) for name in names}
        return [self._fitting(files[one.name], rows[one.name], one) for one in sets]

    def _fitting(self, path: Path, rows: Sequence[PlacedRow], direct: ClsdSet) -> ClsdSet:
        """The set of the file's rows, once they are those of the direct one."""
        own = rows_of(rows, direct.source_lang, direct.target_lang)
        if not own:
            raise ValueError(f"{path}: expected items of {direct.direction}, found none")
        for (where, row), expected in zip(own, direct.ids, strict=False):
            if row.id != expected:
                raise ValueError(f"{where}: expected the item {expected!r} of {_named(direct)}, found {row.id!r}")
        if len(own) != len(direct.ids):
            raise ValueError(f"{path}: expected the {len(direct.ids):,} items of {_named(direct)}, found {len(own):,}")
        found = clsd_set(direct.name, direct.source_lang, direct.target_lang, own)
        count = len(direct.distractors[0])
        if len(found.distractors[0]) != count:
            raise ValueError(
                f"{own[0].where}: expected {count} distractors, as {_named(direct)} has, found"
                f" {len(found.distractors[0])}"
            )
        self._check_translated(path, direct, found)
        return found

    def _check_translated(self, path: Path, direct: ClsdSet, found: ClsdSet) -> None:
        """Raise ``ValueError`` where the sources, the translations or the distractors are in their own language."""
        sides = {
            "sources": (direct.source_lang, direct.source, found.source),
            "translations": (direct.target_lang, direct.target, found.target),
            "distractors": (direct.target_lang, chain(*direct.distractors), chain(*found.distractors)),
        }
        for side, (language, originals, texts) in sides.items():
            pairs = dict(zip(originals, texts, strict=True))
            same = [original for original, text in pairs.items() if original == text]
            if language != self.language and len(same) > UNTRANSLATED * len(pairs):
                raise ValueError(
                    f"{path}: expected texts in {self.language}, found {len(same):,} of {len(pairs):,} {side} of"
                    f" {_named(direct)} as they are there, such as {same[0]!r}"
                )

    # ---- a translator

    @cached_property
    def _translator(self) -> Translator | None:
        return None if self._make_translator is None else self._make_translator()

    def _texts_by_language(self, sets: Sequence[ClsdSet]) -> dict[str, list[str]]:
        """The distinct texts that are in another language."""
        found: dict[str, dict[str, None]] = {}
        for one in sets:
            found.setdefault(one.source_lang, {}).update(dict.fromkeys(one.source))
            candidates = chain.from_iterable(
                (text, *row) for text, row in zip(one.target, one.distractors, strict=True)
            )
            found.setdefault(one.target_lang, {}).update(dict.fromkeys(candidates))
        return {language: list(texts) for language, texts in found.items() if language != self.language}

    def _translated(self, translator: Translator, sets: Sequence[ClsdSet]) -> list[ClsdSet]:
        translator.to(self.device)
        try:
            found = {
                language: self._translations(translator, language, texts)
                for language, texts in self._texts_by_language(sets).items()
            }
        finally:
            translator.free()

        def translate(texts: Iterable[str], language: str) -> list[str]:
            return [found[language][text] if language in found else text for text in texts]

        return [
            replace(
                one,
                source=translate(one.source, one.source_lang),
                target=translate(one.target, one.target_lang),
                distractors=[translate(row, one.target_lang) for row in one.distractors],
            )
            for one in sets
        ]

    def _translations(self, translator: Translator, source_lang: str, texts: Sequence[str]) -> dict[str, str]:
        """The translation of each text, from the cache or else now."""
        key = hashlib.sha256(f"{translator.digest()} {source_lang} {self.language}".encode()).hexdigest()
        # The ranks of a training ask for the same: the first one translates, the others find all that it made.
        file = AppendOnly(self.cache_dir / f"{key}.jsonl", wait=True)
        digests = {text: _digest(text) for text in texts}
        known = _known(file)
        if not known.keys() >= set(digests.values()):
            with file:
                known = _known(file)  # as they are now that the file is ours
                missing = [text for text in texts if digests[text] not in known]
                if missing:
                    log.info(
                        "translating %s texts from %s to %s; %s are known: %s",
                        f"{len(missing):,}", source_lang, self.language, f"{len(texts) - len(missing):,}", file.path,
                    )  # fmt: skip
                for batch in translator.translate(
                    missing, source_lang=source_lang, target_lang=self.language, progress=True
                ):
                    made = [_line(digests[missing[place]], translation) for place, translation in batch.items()]
                    file.add(made)
                    known |= {one["text"]: one for one in made}
        if cut := sum(known[digest]["cut"] for digest in digests.values()):
            log.warning(
                "%s of %s texts in %s, or their translations, were cut at translator.max_length tokens",
                f"{cut:,}", f"{len(texts):,}", source_lang,
            )  # fmt: skip
        return {text: known[digest]["translation"] for text, digest in digests.items()}


def _known(file: AppendOnly) -> dict[str, dict[str, Any]]:
    """The lines of a cache by the digest of their text."""
    return {one["text"]: one for one in file.read()}


def _line(digest: str, translation: Translation) -> dict[str, Any]:
    return {"text": digest, "translation": translation.text, "cut": translation.is_cut}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _named(one: ClsdSet) -> str:
    return f"{one.name} {one.direction}"


def _note_equal(one: ClsdSet, language: str) -> None:
    """Say how many items nobody can get right: translation has made a distractor of the translation itself."""
    equal = sum(text in row for text, row in zip(one.target, one.distractors, strict=True))
    if equal:
        log.info(
            "%s in %s: %s of %s items have a distractor that equals the translation; they are errors; ties, unless"
            " another distractor is nearer still", _named(one), language, equal, f"{len(one.ids):,}",
        )  # fmt: skip
