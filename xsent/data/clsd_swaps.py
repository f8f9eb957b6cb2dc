"""Distractors that differ from their original in one word, with its part of speech: annotated, or found by rule."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xsent.data.clsd import ClsdSet
from xsent.data.clsd_swap_tables import AnnotatedSwap, read_table, swap_tables
from xsent.distributed import rank
from xsent.text.annotation import UNIVERSAL_TAGS, Annotator
from xsent.text.swaps import SWAP, Change, single_token_change, tag_swaps, words_of

log = logging.getLogger(__name__)

Tagger = Callable[..., Annotator]  # ``language=``, ISO 639-3 -> an annotator of universal tags

OTHER_SIDE = {"deu": "fra", "fra": "deu"}
_DETAILS = re.compile(r"Swap: '(.*)' with '(.*)'")
# In the released tables no original disagrees with its corpus, 6 of 630 distractors do, and 1 of 972 swaps is of more
# than one token. Where more than a few are, the table is of other corpora, or of no swaps.
DISAGREEING = 0.1


@dataclass(frozen=True)
class SwapSet:
    """N distractors in one language that differ from their original in one word, and the original's translation."""

    name: str  # "deu", the target's language; "fra-deu" where several sets have it
    source_lang: str  # ISO 639-3, of the query
    target_lang: str  # of the original and the distractor
    source: list[str]
    target: list[str]  # the original, which translates the source
    swapped: list[str]  # the distractor
    tags: list[str]  # universal, of the original's word
    equivalent: list[int]  # 1: it means the same after all, 0: it does not, -1: not known
    ids: list[str]  # "wmt19/188/2", corpus, row and number of the distractor
    words: list[tuple[str, str]]  # the original's and the distractor's; "" where no single token differs
    additions: int  # distractors, not among these, with a token more or less than their original


class SwapReader:
    """Finds swaps, in tables of people's or by rule.

    Args:
        tagger: ``language=``, ISO 639-3, -> an annotator of universal tags, for swaps that are found by rule; None is
            enough for annotated ones.
    """

    def __init__(self, *, tagger: Tagger | None) -> None:
        self.tagger = tagger

    def __call__(
        self, sets: Sequence[ClsdSet], annotations: str | Sequence[str] | None, *, keep_equivalent: bool
    ) -> list[SwapSet]:
        """Swaps, a set for each direction that has any.

        Args:
            sets: corpora with their distractors: annotations are compared with them, or swaps found in them.
            annotations: released tables, a folder of them or files; None: by rule.
            keep_equivalent: as in ``read_annotated_swaps``; a rule cannot tell.

        Raises:
            FileNotFoundError: no such table, or no models of the tagger.
            ValueError: a damaged table, or one of other corpora; by rule no tagger, or no swap.
        """
        if annotations is not None:
            return read_annotated_swaps(annotations, sets, keep_equivalent=keep_equivalent)
        if self.tagger is None:
            raise ValueError(
                "swaps need their parts of speech: give evaluator.annotations=FOLDER or evaluator.swaps.tagger"
            )
        return find_swaps(sets, self.tagger)


# ---- annotated


def read_annotated_swaps(
    annotations: str | Sequence[str], sets: Sequence[ClsdSet], *, keep_equivalent: bool
) -> list[SwapSet]:
    """The released tables ``DE_wmt1921_swaps_ner_pos.tsv`` and ``FR_...``: TAB, quoted cells, UTF-8 or UTF-16.

    A row holds the texts, so that one of a corpus that is not at hand is as good. Where the corpus is there, the row
    that it names is compared: distractors that are not the annotated ones are counted and logged (five German ones
    and a French one of WMT19, edited until they differ in one word).

    Args:
        annotations: files, or a folder whose ``.tsv`` files all are such tables.
        sets: corpora at hand.
        keep_equivalent: whether swaps that people found to mean the same are among them.

    Raises:
        FileNotFoundError: no such file or folder, or no table in it.
        ValueError: names file and line: columns that are missing, another number of them, a damaged encoding, an
            unknown operation, part of speech or distractor, an empty text, a distractor in the words of its original,
            or annotated twice; or more than a few swaps of more than one token, or originals or distractors that are
            not those of the corpus.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.3, tables released with it.
    """
    rows = [row for path in swap_tables(annotations) for row in read_table(path)]
    seen: dict[tuple[str, str], str] = {}
    for row in rows:
        other = seen.setdefault((row.target_lang, row.id), row.where)
        if other != row.where:
            raise ValueError(f"{row.where}: expected each distractor once, found {row.id} as in {other}")
    _check_swapped([row for row in rows if row.operation == SWAP])
    _compare(rows, sets)
    by_language: dict[str, list[AnnotatedSwap]] = {}
    for row in rows:
        by_language.setdefault(row.target_lang, []).append(row)
    found = [_annotated_set(language, of_it, keep_equivalent) for language, of_it in by_language.items()]
    if not any(one.ids for one in found):
        raise ValueError(f"{annotations}: expected at least 1 swap, found none")
    return [one for one in found if one.ids]


def _annotated_set(language: str, rows: Sequence[AnnotatedSwap], keep_equivalent: bool) -> SwapSet:
    swaps = [row for row in rows if row.operation == SWAP]
    equivalent = sum(row.equivalent == 1 for row in swaps)
    log.info(
        "%s: %d annotated distractors, %d with one word swapped (%d of them mean the same and are %s), %d with an"
        " addition", language, len(rows), len(swaps), equivalent, "kept" if keep_equivalent else "dropped",
        len(rows) - len(swaps),
    )  # fmt: skip
    chosen = [row for row in swaps if keep_equivalent or row.equivalent != 1]
    other = OTHER_SIDE[language]
    return SwapSet(
        name=language, source_lang=other, target_lang=language,
        source=[row.texts[other] for row in chosen], target=[row.texts[language] for row in chosen],
        swapped=[row.changed for row in chosen], tags=[row.tag for row in chosen],
        equivalent=[row.equivalent for row in chosen], ids=[row.id for row in chosen],
        words=[_words(row) for row in chosen], additions=len(rows) - len(swaps),
    )  # fmt: skip


def _swapped(row: AnnotatedSwap) -> Change | None:
    """The one token that differs, if it is one."""
    change = single_token_change(row.texts[row.target_lang], row.changed)
    return change if change is not None and change.kind == SWAP else None


def _words(row: AnnotatedSwap) -> tuple[str, str]:
    if (change := _swapped(row)) is not None:
        return words_of(change, row.target_lang)
    # A French row differs in a space before its full stop besides: the words are those that the annotation names.
    found = _DETAILS.fullmatch(row.details)
    return (found[1], found[2]) if found else ("", "")


def _check_swapped(swaps: Sequence[AnnotatedSwap]) -> None:
    """Whether distractors differ from their original in one token, as they are said to."""
    others = [row for row in swaps if _swapped(row) is None]
    if len(others) > DISAGREEING * len(swaps):
        raise ValueError(
            f"{others[0].where}: expected a distractor that differs from its original in one token, found"
            f" {others[0].changed!r}; {len(others)} of {len(swaps)} swaps differ in more"
        )
    if others:
        names = ", ".join(f"{row.target_lang} {row.id}" for row in others[:8])
        log.info("%d of %d annotated swaps differ in more than one token (%s)", len(others), len(swaps), names)


def _compare(rows: Sequence[AnnotatedSwap], sets: Sequence[ClsdSet]) -> None:
    """Compare annotated texts with those of the corpora at hand."""
    corpora = {(one.name.lower(), one.source_lang, one.target_lang): one for one in sets}
    places = {key: {index: place for place, index in enumerate(one.ids)} for key, one in corpora.items()}
    found: list[tuple[AnnotatedSwap, bool, bool]] = []
    for row in rows:
        other_lang = OTHER_SIDE[row.target_lang]
        key = (row.corpus, other_lang, row.target_lang)
        if key in corpora:
            one, place = corpora[key], places[key].get(row.corpus_row)
            of_row = () if place is None else (one.source[place], one.target[place])
            distractors = [] if place is None else one.distractors[place]
            same = of_row == (row.texts[other_lang], row.texts[row.target_lang])
            found.append((row, same, row.changed in distractors[row.number - 1 : row.number]))
    others = [row for row, same, _ in found if not same]
    changed = [row for row, same, as_there in found if same and not as_there]
    for what, which, level in (("originals", others, logging.WARNING), ("distractors", changed, logging.INFO)):
        if len(which) > DISAGREEING * len(found):
            first = which[0]
            raise ValueError(
                f"{first.where}: expected the {what} of row {first.corpus_row} of {first.corpus}, found others; those"
                f" of {len(which)} of {len(found)} rows are not those of the corpus"
            )
        if which:
            names = ", ".join(f"{row.target_lang} {row.id}" for row in which[:8])
            log.log(
                level, "%d of %d annotated %s are not those of their corpus (%s); the annotated texts count",
                len(which), len(found), what, names,
            )  # fmt: skip


# ---- by rule


class _Found(NamedTuple):
    """A distractor that differs from its original in one token."""

    id: str
    source: str
    target: str
    swapped: str
    change: Change


def find_swaps(sets: Sequence[ClsdSet], tagger: Tagger) -> list[SwapSet]:
    """Distractors that differ from their original in exactly one token, tagged; a set for each direction with any.

    Args:
        sets: corpora with their distractors.
        tagger: ``language=``, ISO 639-3 -> an annotator of universal tags.

    Raises:
        ValueError: there is none, or a tag that is not universal.
    """
    changes: dict[tuple[str, str], list[_Found]] = {}
    for one in sets:
        changes.setdefault((one.source_lang, one.target_lang), []).extend(_changes(one))
    swaps = {way: some for way, found in changes.items() if (some := [one for one in found if one.change.kind == SWAP])}
    if not swaps:
        raise ValueError(
            f"none of the distractors of {', '.join(one.name for one in sets)} differs from its original in one token"
        )
    targets = Counter(target for _, target in swaps)
    annotators = {target: tagger(language=target) for target in targets}  # all, before any is put to work
    return [
        _tagged(
            target if targets[target] == 1 else f"{source}-{target}", source, target, some,
            additions=len(changes[source, target]) - len(some), annotator=annotators[target],
        )
        for (source, target), some in swaps.items()
    ]  # fmt: skip


def _changes(one: ClsdSet) -> Iterator[_Found]:
    for index, source, target, distractors in zip(one.ids, one.source, one.target, one.distractors, strict=True):
        for number, distractor in enumerate(distractors, start=1):
            change = single_token_change(target, distractor)
            if change is not None:
                yield _Found(f"{one.name}/{index}/{number}", source, target, distractor, change)


def _tagged(
    name: str, source_lang: str, target_lang: str, swaps: Sequence[_Found], *, additions: int, annotator: Annotator
) -> SwapSet:
    tags = tag_swaps([(one.target, one.change) for one in swaps], target_lang, annotator, progress=rank() == 0)
    if unknown := sorted(set(tags).difference(UNIVERSAL_TAGS)):
        raise ValueError(f"{name}: expected universal parts of speech such as NOUN of the tagger, found {unknown[0]!r}")
    log.info(
        "%s: %d distractors differ from their original in one token, %d more by an addition or a removal", name,
        len(swaps), additions,
    )  # fmt: skip
    return SwapSet(
        name=name, source_lang=source_lang, target_lang=target_lang, source=[one.source for one in swaps],
        target=[one.target for one in swaps], swapped=[one.swapped for one in swaps], tags=tags,
        equivalent=[-1] * len(swaps), ids=[one.id for one in swaps],
        words=[words_of(one.change, target_lang) for one in swaps], additions=additions,
    )  # fmt: skip
