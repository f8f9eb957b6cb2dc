"""Labelled pairs as train, valid and test: where a part has no files it is cut off the training part by content."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from xsent.data.hashes import mix, plain, text_hashes
from xsent.data.labelled import PARTS, LabelledReader, LabelledRow
from xsent.data.rejects import RejectLedger
from xsent.data.sampler import Rows

log = logging.getLogger(__name__)


def check_shares(valid_share: float, test_share: float) -> None:
    """Raise ``ValueError`` unless some of the training part is left."""
    if valid_share < 0 or test_share < 0 or valid_share + test_share >= 1:
        raise ValueError(f"valid_share={valid_share} and test_share={test_share} leave no pairs to train on")


def read_parts(
    source: LabelledReader,
    ledger: RejectLedger,
    root: str,
    *,
    valid_share: float,
    test_share: float,
    training: bool,
) -> dict[str, list[LabelledRow]]:
    """Rows of ``train``, ``valid`` and ``test``, in all languages that the files have.

    A part without files is cut off ``train``, and the log says how much; a part with files is left as it is, with a
    warning if pairs of it are in ``train``, too. All languages are read for that, so that a run on five languages and
    an evaluation on seven hold out the same rows.

    Args:
        source: reader of the files.
        ledger, root: for the reader.
        valid_share, test_share: of the training part, for a part that has no files.
        training: whether ``train`` is wanted; without, it is read only if something has to be cut off it.

    Raises:
        FileNotFoundError: a part has no files and there are none of training.
        ValueError: what the reader refuses.
    """
    files = source(ledger, root)
    missing = [part for part in ("valid", "test") if part not in files]
    if "train" not in files and (missing or training):
        wanted = "train" if training else f"{' or '.join(missing)}, nor of train to cut them from"
        raise FileNotFoundError(f"{root}: no files of {wanted}; there are those of {', '.join(files)}")
    parts = {part: files[part]() for part in PARTS if part in files and (part != "train" or training or missing)}
    if missing:
        rows = parts["train"]
        place = places(rows)
        # Each share has its own stretch, whichever of the two is cut.
        is_valid = (place < valid_share) & ("valid" in missing)
        is_test = (place >= valid_share) & (place < valid_share + test_share) & ("test" in missing)
        for part, chosen in {"valid": is_valid, "test": is_test, "train": ~is_valid & ~is_test}.items():
            if part not in files or part == "train":
                parts[part] = [rows[number] for number in np.flatnonzero(chosen)]
        cut = ", ".join(f"{part} {len(parts[part]):,}" for part in missing)
        log.info("%s: cut off the %s rows of the training part: %s", root, f"{len(rows):,}", cut)
    if training:
        _warn_of_known_pairs(root, parts)
    return {part: parts[part] for part in PARTS if part in parts}


def _warn_of_known_pairs(root: str, parts: dict[str, list[LabelledRow]]) -> None:
    """Files are left as they are: a pair may be in the training file and in another, in either order."""
    held_out = {part: [_pair(row) for row in parts[part]] for part in ("valid", "test")}
    asked = {pair for pairs in held_out.values() for pair in pairs}
    trained = {pair for pair in map(_pair, parts["train"]) if pair in asked}
    if trained:
        counts = (f"{sum(pair in trained for pair in pairs):,} of {part}" for part, pairs in held_out.items())
        log.warning("%s: pairs that are in the training part, too: %s", root, ", ".join(counts))


def _pair(row: LabelledRow) -> tuple[str, str]:
    return min(row.source, row.target), max(row.source, row.target)


def places(rows: Sequence[LabelledRow]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Place (N,) in [0, 1) of each row, the same for rows that share a sentence or an item, directly or through others.

    It depends on the content of such a group alone: not on the order of rows, nor on other groups. Letter case,
    punctuation, spacing and compatibility forms do not count, so that "Go home!" and "go home" are together.
    """
    plain_of = {text: plain(text) for row in rows for text in (row.source, row.target)}
    number: dict[str, int] = {text: n for n, text in enumerate(dict.fromkeys(plain_of.values()))}
    source = np.array([number[plain_of[row.source]] for row in rows], dtype=np.int64)
    target = np.array([number[plain_of[row.target]] for row in rows], dtype=np.int64)
    group = connected(len(number), source, target, item_numbers(rows))
    lowest = np.full(group.max(initial=0) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(lowest, group, text_hashes(number, salt=b"split"))
    # The lowest hash names the group; hashed again, since the lowest of many is no longer anywhere at random.
    place: np.ndarray[tuple[int], np.dtype[np.float64]] = mix(lowest)[group[source]].astype(np.float64) / 2.0**64
    return place


def item_numbers(rows: Sequence[LabelledRow]) -> Rows:
    """Number (N,) of each row's item, -1 where it has none."""
    number: dict[str, int] = {}
    return np.array([number.setdefault(row.item, len(number)) if row.item else -1 for row in rows], dtype=np.int64)


def connected(texts: int, source: Rows, target: Rows, item: Rows) -> Rows:
    """Number (texts,) of each text's group: texts in one row or item, directly or through others.

    Args:
        texts: how many there are.
        source, target: (N,) texts of each row.
        item: (N,) of each row, -1 for none.
    """
    has_item = item >= 0
    one = np.concatenate([source, source[has_item]])
    other = np.concatenate([target, texts + item[has_item]])
    size = texts + int(item.max(initial=-1)) + 1
    edges = (np.ones(len(one), dtype=np.int8), (one, other))
    _, component = connected_components(coo_array(edges, shape=(size, size)), directed=False)
    group: Rows = component[:texts].astype(np.int64)
    return group
