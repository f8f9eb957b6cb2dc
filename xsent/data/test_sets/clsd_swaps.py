"""CLSD distractors that differ from their original in one word, with its part of speech: annotated or found by rule."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xsent.data.test_sets.clsd import ClsdSet
from xsent.data.test_sets.clsd_swap_tables import AnnotatedSwap, read_table, swap_tables
from xsent.distributed import rank
from xsent.text.annotation.annotator import UNIVERSAL_TAGS, StanzaAnnotator
from xsent.text.single_word_swaps import SWAP, Change, find_single_token_change, swapped_words, tag_swaps

log = logging.getLogger(__name__)

Tagger = Callable[..., StanzaAnnotator]  # ``language=``, ISO 639-3 -> an annotator of universal tags

OTHER_LANGUAGE = {"deu": "fra", "fra": "deu"}
_DETAILS = re.compile(r"Swap: '(.*)' with '(.*)'")
# In the released tables no original differs from its corpus, 6 of 630 distractors do, and 1 of 972 swaps changes more
# than one token. A larger share means that the table is of other corpora, or not of swaps.
MAX_MISMATCHES = 0.1


@dataclass(frozen=True)
class SwapSet:
    """N distractors in one language that differ from their original in one word, and the original's translation."""

    name: str  # "deu", the target language; "fra-deu" if several sets have it
    source_lang: str  # ISO 639-3, of the query
    target_lang: str  # of the original and the distractor
    source: list[str]
    target: list[str]  # the original, which translates the source
    swapped: list[str]  # the distractor
    tags: list[str]  # universal part of speech of the original's word
    equivalent: list[int]  # 1: same meaning, 0: another one, -1: unknown
    ids: list[str]  # "wmt19/188/2": corpus, row and number of the distractor
    words: list[tuple[str, str]]  # the original's and the distractor's; "" if no single token differs
    additions: int  # number of distractors, not in this set, with one token more or less than their original


@dataclass(frozen=True, kw_only=True)
class SwapReader:
    """Reads swaps from annotated tables, or finds them by rule."""

    tagger: Tagger | None  # for swaps found by rule; None for annotated ones

    def __call__(
        self, sets: Sequence[ClsdSet], annotations: str | Sequence[str] | None, *, keep_equivalent: bool
    ) -> list[SwapSet]:
        """Swaps, one set for each direction that has any.

        Annotated tables (files or a folder) are compared with the corpora; without them swaps are found in the corpora
        by rule, which does not use ``keep_equivalent``.

        Raises:
            FileNotFoundError: no such table, or no model of the tagger.
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
    """Read the released tables ``DE_wmt1921_swaps_ner_pos.tsv`` and ``FR_...``: TAB, quoted cells, UTF-8 or UTF-16.

    Rows contain their texts, so the corpora are not needed. Rows of corpora that are given are compared with them; the
    log counts distractors that differ (five German ones and a French one of WMT19, edited after the release).
    ``keep_equivalent`` keeps swaps that annotators found to have the same meaning.

    Raises:
        ValueError: a distractor is annotated twice, or more than 10 % of swaps change several tokens or of texts
            differ from the corpus.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.3, tables released with it.
    """
    rows = [row for path in swap_tables(annotations) for row in read_table(path)]
    first: dict[tuple[str, str], str] = {}
    by_language: dict[str, list[AnnotatedSwap]] = {}
    for row in rows:
        location = first.setdefault((row.target_lang, row.id), row.location)
        if location != row.location:
            raise ValueError(f"{row.location}: expected each distractor once, found {row.id} as in {location}")
        by_language.setdefault(row.target_lang, []).append(row)
    _check_swaps([row for row in rows if row.operation == SWAP])
    _compare(rows, sets)
    swap_sets = [_annotated_set(language, rows, keep_equivalent) for language, rows in by_language.items()]
    if not any(swap_set.ids for swap_set in swap_sets):
        raise ValueError(f"{annotations}: expected at least 1 swap, found none")
    return [swap_set for swap_set in swap_sets if swap_set.ids]


def _annotated_set(language: str, rows: Sequence[AnnotatedSwap], keep_equivalent: bool) -> SwapSet:
    swaps = [row for row in rows if row.operation == SWAP]
    equivalent = sum(row.equivalent == 1 for row in swaps)
    additions = len(rows) - len(swaps)
    log.info(
        f"{language}: {len(rows)} annotated distractors, {len(swaps)} with one word swapped ({equivalent} of them mean"
        f" the same and are {'kept' if keep_equivalent else 'dropped'}), {additions} with an addition"
    )
    selected = [row for row in swaps if keep_equivalent or row.equivalent != 1]
    source_lang = OTHER_LANGUAGE[language]
    return SwapSet(
        name=language,
        source_lang=source_lang,
        target_lang=language,
        source=[row.texts[source_lang] for row in selected],
        target=[row.texts[language] for row in selected],
        swapped=[row.changed for row in selected],
        tags=[row.tag for row in selected],
        equivalent=[row.equivalent for row in selected],
        ids=[row.id for row in selected],
        words=[_words(row) for row in selected],
        additions=additions,
    )


def _swap(row: AnnotatedSwap) -> Change | None:
    """The swapped token, None if the texts differ in anything else."""
    change = find_single_token_change(row.texts[row.target_lang], row.changed)
    return change if change is not None and change.kind == SWAP else None


def _words(row: AnnotatedSwap) -> tuple[str, str]:
    if (change := _swap(row)) is not None:
        return swapped_words(change, row.target_lang)
    # One French row also differs in a space before its full stop: the annotation names the words.
    match = _DETAILS.fullmatch(row.details)
    return (match[1], match[2]) if match else ("", "")


def _check_swaps(swaps: Sequence[AnnotatedSwap]) -> None:
    wrong = [row for row in swaps if _swap(row) is None]
    if len(wrong) > MAX_MISMATCHES * len(swaps):
        raise ValueError(
            f"{wrong[0].location}: expected a distractor that differs from its original in one token, found"
            f" {wrong[0].changed!r}; {len(wrong)} of {len(swaps)} swaps differ in more"
        )
    if wrong:
        log.info("%d of %d annotated swaps differ in more than one token (%s)", len(wrong), len(swaps), _names(wrong))


def _names(rows: Sequence[AnnotatedSwap]) -> str:
    return ", ".join(f"{row.target_lang} {row.id}" for row in rows[:8])


def _compare(rows: Sequence[AnnotatedSwap], sets: Sequence[ClsdSet]) -> None:
    """Compare annotated texts with those of the given corpora."""
    items = {
        (clsd.name.lower(), clsd.target_lang, index): (source, target, distractors)
        for clsd in sets
        if clsd.source_lang == OTHER_LANGUAGE.get(clsd.target_lang)
        for index, source, target, distractors in zip(clsd.ids, clsd.source, clsd.target, clsd.distractors, strict=True)
    }
    corpora = {(corpus, target_lang) for corpus, target_lang, _ in items}
    compared = [row for row in rows if (row.corpus, row.target_lang) in corpora]
    wrong_originals, wrong_distractors = [], []
    for row in compared:
        originals = row.texts[OTHER_LANGUAGE[row.target_lang]], row.texts[row.target_lang]
        *texts, distractors = items.get((row.corpus, row.target_lang, row.corpus_row), ("", "", []))
        if tuple(texts) != originals:
            wrong_originals.append(row)
        elif row.changed not in distractors[row.number - 1 : row.number]:
            wrong_distractors.append(row)
    for kind, wrong, level in (
        ("originals", wrong_originals, logging.WARNING),
        ("distractors", wrong_distractors, logging.INFO),
    ):
        if len(wrong) > MAX_MISMATCHES * len(compared):
            first = wrong[0]
            raise ValueError(
                f"{first.location}: expected the {kind} of row {first.corpus_row} of {first.corpus}, found others;"
                f" those of {len(wrong)} of {len(compared)} rows are not those of the corpus"
            )
        if wrong:
            counts = f"{len(wrong)} of {len(compared)} annotated {kind}"
            log.log(level, f"{counts} are not those of their corpus ({_names(wrong)}); the annotated texts are used")


# ---- by rule


class _TokenChange(NamedTuple):
    """A distractor that differs from its original in one token."""

    id: str
    source: str
    target: str
    swapped: str
    change: Change


def find_swaps(sets: Sequence[ClsdSet], tagger: Tagger) -> list[SwapSet]:
    """Find and tag distractors that differ from their original in exactly one token; one set per direction with any."""
    changes: dict[tuple[str, str], list[_TokenChange]] = {}
    for clsd in sets:
        of_direction = changes.setdefault((clsd.source_lang, clsd.target_lang), [])
        for id_, source, target, distractors in zip(clsd.ids, clsd.source, clsd.target, clsd.distractors, strict=True):
            for number, distractor in enumerate(distractors, start=1):
                change = find_single_token_change(target, distractor)
                if change is not None:
                    of_direction.append(_TokenChange(f"{clsd.name}/{id_}/{number}", source, target, distractor, change))
    swaps = {
        direction: direction_swaps
        for direction, direction_changes in changes.items()
        if (direction_swaps := [changed for changed in direction_changes if changed.change.kind == SWAP])
    }
    if not swaps:
        names = ", ".join(clsd.name for clsd in sets)
        raise ValueError(f"none of the distractors of {names} differs from its original in one token")
    targets = Counter(target for _, target in swaps)
    annotators = {target: tagger(language=target) for target in targets}  # all, before any is used
    swap_sets = []
    for (source_lang, target_lang), direction_swaps in swaps.items():
        name = target_lang if targets[target_lang] == 1 else f"{source_lang}-{target_lang}"
        additions = len(changes[source_lang, target_lang]) - len(direction_swaps)
        tagged = [(swap.target, swap.change) for swap in direction_swaps]
        tags = tag_swaps(tagged, target_lang, annotators[target_lang], progress=rank() == 0)
        if unknown := sorted(set(tags).difference(UNIVERSAL_TAGS)):
            raise ValueError(
                f"{name}: expected universal parts of speech such as NOUN of the tagger, found {unknown[0]!r}"
            )
        log.info(
            f"{name}: {len(direction_swaps)} distractors differ from their original in one token, {additions} more by"
            " an addition or a removal"
        )
        swap_sets.append(
            SwapSet(
                name=name,
                source_lang=source_lang,
                target_lang=target_lang,
                source=[swap.source for swap in direction_swaps],
                target=[swap.target for swap in direction_swaps],
                swapped=[swap.swapped for swap in direction_swaps],
                tags=tags,
                equivalent=[-1] * len(direction_swaps),
                ids=[swap.id for swap in direction_swaps],
                words=[swapped_words(swap.change, target_lang) for swap in direction_swaps],
                additions=additions,
            )
        )
    return swap_sets
