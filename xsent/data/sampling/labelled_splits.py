"""Train, valid and test parts of labelled pairs; a part without files is split off the training part by content."""

import logging
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from xsent.data.readers.labelled import PARTS, LabelledReader, LabelledRow
from xsent.data.readers.rejects import RejectLedger
from xsent.data.sampling.batch_sampler import Rows
from xsent.data.sampling.content_hash import connected_groups, lowest_hashes, mix, normalize, text_hashes, unit_interval

log = logging.getLogger(__name__)


def check_shares(valid_share: float, test_share: float) -> None:
    """Raise ``ValueError`` if nothing of the training part remains."""
    if valid_share < 0 or test_share < 0 or valid_share + test_share >= 1:
        raise ValueError(f"valid_share={valid_share} and test_share={test_share} leave no pairs to train on")


def read_parts(
    source: LabelledReader, ledger: RejectLedger, root: str, *, valid_share: float, test_share: float, training: bool
) -> dict[str, list[LabelledRow]]:
    """Read the rows of ``train``, ``valid`` and ``test`` in all languages of the files.

    A part without files is split off ``train``, of which it gets its share. A part with files is not changed; a warning
    counts pairs of it that also occur in ``train``. All languages are read, so that a run on five languages and an
    evaluation on seven hold out the same rows. Without ``training``, ``train`` is not returned, and it is read only if
    another part has to be split off it.

    Raises:
        FileNotFoundError: a part has no files and there are no training files.
        ValueError: raised by the reader.
    """
    files = source(ledger, root)
    missing = [part for part in ("valid", "test") if part not in files]
    if "train" not in files and (missing or training):
        needed = "train" if training else f"{' or '.join(missing)}, nor of train to cut them from"
        raise FileNotFoundError(f"{root}: no files of {needed}; there are those of {', '.join(files)}")
    parts = {part: files[part]() for part in PARTS if part in files and (part != "train" or training or missing)}
    if missing:
        rows = parts["train"]
        position = split_positions(rows)
        # Each share has a fixed interval, whichever of the two is missing.
        is_valid = (position < valid_share) & ("valid" in missing)
        is_test = (position >= valid_share) & (position < valid_share + test_share) & ("test" in missing)
        for part, selected in {"valid": is_valid, "test": is_test, "train": ~is_valid & ~is_test}.items():
            if part not in files or part == "train":
                parts[part] = [rows[number] for number in np.flatnonzero(selected)]
        sizes = ", ".join(f"{part} {len(parts[part]):,}" for part in missing)
        log.info("%s: split off the %s rows of the training part: %s", root, f"{len(rows):,}", sizes)
    if training:
        _warn_of_training_pairs(root, parts)
    return {part: parts[part] for part in PARTS if part in parts}


def _warn_of_training_pairs(root: str, parts: dict[str, list[LabelledRow]]) -> None:
    held_out = {part: [_pair(row) for row in parts[part]] for part in ("valid", "test")}
    shared = {pair for pairs in held_out.values() for pair in pairs}.intersection(map(_pair, parts["train"]))
    if shared:
        counts = (f"{sum(pair in shared for pair in pairs):,} of {part}" for part, pairs in held_out.items())
        log.warning("%s: pairs that are in the training part, too: %s", root, ", ".join(counts))


def _pair(row: LabelledRow) -> tuple[str, str]:
    """The two sentences in either order."""
    return min(row.source, row.target), max(row.source, row.target)


def split_positions(rows: Sequence[LabelledRow]) -> NDArray[np.float64]:
    """Position (N,) in [0, 1) of each row; rows that share a sentence or an item, also through others, share it.

    It depends only on the content of such a group. Case, punctuation, spacing and compatibility forms are ignored, so
    "Go home!" and "go home" are in one group.
    """
    normalized = {text: normalize(text) for row in rows for text in (row.source, row.target)}
    number = {text: n for n, text in enumerate(dict.fromkeys(normalized.values()))}
    source = np.array([number[normalized[row.source]] for row in rows], dtype=np.int64)
    target = np.array([number[normalized[row.target]] for row in rows], dtype=np.int64)
    group = text_groups(len(number), source, target, item_numbers(rows))
    lowest = lowest_hashes(group, text_hashes(number, salt=b"split"))
    # Hashed again, because the minimum of several hashes is not uniform.
    return unit_interval(mix(lowest)[group[source]])


def with_negatives(parts: Mapping[str, list[LabelledRow]]) -> dict[str, list[LabelledRow]]:
    """The held-out rows, all of label 1, and as many of label 0, since a threshold needs both.

    A row of label 0 has the source of a row and the target of another one in the same languages, which shares no
    sentence or item with it, not even through others. Content hashes decide which.
    """
    log.info("no pair has label 0: each held-out source is also paired with a random target, as label 0")
    return {part: rows + _random_negatives(rows) for part, rows in parts.items()}


def _random_negatives(rows: Sequence[LabelledRow]) -> list[LabelledRow]:
    position = split_positions(rows)
    order = np.lexsort([text_hashes(row.source for row in rows), text_hashes(row.target for row in rows)])
    rows_of: dict[tuple[str, str], list[int]] = {}
    for number in order.tolist():
        rows_of.setdefault((rows[number].source_lang, rows[number].target_lang), []).append(number)
    return [
        rows[number]._replace(target=rows[successor].target, label=0, item="")
        for numbers in rows_of.values()
        for number, successor in zip(numbers, numbers[1:] + numbers[:1], strict=True)
        if position[number] != position[successor]
    ]


def item_numbers(rows: Sequence[LabelledRow]) -> Rows:
    """Number (N,) of each row's item, -1 if it has none."""
    number: dict[str, int] = {}
    return np.array([number.setdefault(row.item, len(number)) if row.item else -1 for row in rows], dtype=np.int64)


def text_groups(texts: int, source: Rows, target: Rows, item: Rows) -> Rows:
    """Number (texts,) of each text's group: texts in one row or item, directly or through others.

    Row i (of N) has the texts ``source[i]`` and ``target[i]`` and the item ``item[i]``, -1 for none.
    """
    has_item = item >= 0
    starts = np.concatenate([source, source[has_item]])
    ends = np.concatenate([target, texts + item[has_item]])
    return connected_groups(texts + int(item.max(initial=-1)) + 1, starts, ends)[:texts]
