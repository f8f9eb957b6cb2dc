"""Clean sentences as noisy batches: split by content, noise by content, the teacher's vectors beside them."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.helpers import config, toy_sentences
from xsent.data.modules.ugc import UgcData
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.models.encoders.static import StaticEncoder
from xsent.models.encoders.tiny import TinyEncoder
from xsent.run import build
from xsent.run.config.compose import plain

SMALL = [
    "recipe=rolaser",
    "data.global_batch_size=32",
    "data.valid_share=0.1",
    "data.test_share=0.1",
    "data.noise.selection=0.5",
]


def tiny() -> TinyEncoder:
    return TinyEncoder(name="tiny", dim=8, buckets=512, max_length=64, seed=0)


def data_of(tmp_path: Path, root: Path, *overrides: str) -> UgcData:
    composed = plain(config("train", tmp_path, *SMALL, f"data.root={root}", *overrides))
    generated: UgcData = build(composed["data"], "data")
    generated.read()
    return generated


def ready(data: UgcData, tmp_path: Path) -> UgcData:
    data.embed(tiny(), EmbeddingStore(tmp_path / "cache"))
    data.tokenize(tiny())
    return data


@pytest.mark.parametrize("redraw", ["true", "false"])
def test_workers_that_are_not_forked_get_the_same_batches(tmp_path: Path, redraw: str) -> None:
    data = ready(data_of(tmp_path, toy_sentences(tmp_path / "data"), f"data.redraw={redraw}"), tmp_path)
    make = data.batches("train")
    rows = np.array([3, 1, 2])
    torch.testing.assert_close(pickle.loads(pickle.dumps(make))(rows, 1), make(rows, 1))


def texts_of(ids: Any, mask: Any) -> list[tuple[int, ...]]:
    return [tuple(row[keep.bool()].tolist()) for row, keep in zip(ids, mask, strict=True)]


def test_splits_are_decided_by_content(tmp_path: Path) -> None:
    root = toy_sentences(tmp_path / "data")
    lines = root.read_text().splitlines()
    (tmp_path / "other.txt").write_text("\n".join([*reversed(lines), lines[0], "one more sentence"]) + "\n")
    in_order, reordered = data_of(tmp_path, root), data_of(tmp_path, tmp_path / "other.txt")
    for split in ("valid", "test"):
        texts, expected = ({data.texts[row] for row in data.splits[split]} for data in (reordered, in_order))
        assert texts - {"one more sentence"} == expected
    everything = np.concatenate(list(in_order.splits.values()))
    assert sorted(everything.tolist()) == list(range(len(in_order.texts)))
    assert 0.05 < len(in_order.splits["valid"]) / len(in_order.texts) < 0.15


def test_the_digest_is_that_of_content_split_and_noise(tmp_path: Path) -> None:
    root = toy_sentences(tmp_path / "data")
    (tmp_path / "other.txt").write_text("\n".join(reversed(root.read_text().splitlines())) + "\n")
    digest = data_of(tmp_path, root).digest()
    assert data_of(tmp_path, tmp_path / "other.txt").digest() == digest
    for change in ("data.valid_share=0.2", "data.noise.selection=0.2", "data.redraw=true", "data.max_pairs=300"):
        assert data_of(tmp_path, root, change).digest() != digest


def test_a_batch_has_both_sides_of_a_sentence_and_the_teachers_vector(tmp_path: Path) -> None:
    data = ready(data_of(tmp_path, toy_sentences(tmp_path / "data")), tmp_path)
    batch = next(iter(data.train_dataloader()))
    clean = [data.texts[row] for row in batch.pairs.row.tolist()]
    assert texts_of(*batch.source) == [tuple(ids) for ids in tiny().tokenize(clean)]
    hashes = data._table.hashes[batch.pairs.row.numpy()].tolist()
    noisy = [sentence.text for sentence in data.noise.apply(clean, hashes)]
    assert noisy != clean
    assert texts_of(*batch.target) == [tuple(ids) for ids in tiny().tokenize(noisy)]
    torch.testing.assert_close(batch.teacher, tiny().encode(clean))


def epochs(data: UgcData) -> list[dict[int, tuple[int, ...]]]:
    batches = []
    for epoch in range(2):
        data.batches_seen = epoch * data.steps_per_epoch
        rows: dict[int, tuple[int, ...]] = {}
        for batch in data.train_dataloader():
            rows |= dict(zip(batch.pairs.row.tolist(), texts_of(*batch.target), strict=True))
        batches.append(rows)
    return batches


def test_noise_is_the_same_in_every_epoch_or_drawn_again(tmp_path: Path) -> None:
    root = toy_sentences(tmp_path / "data")
    first, second = epochs(ready(data_of(tmp_path, root), tmp_path))
    both = first.keys() & second.keys()
    assert len(both) > 200
    assert all(first[row] == second[row] for row in both)
    drawn, again = epochs(ready(data_of(tmp_path, root, "data.redraw=true"), tmp_path))
    assert all(drawn[row] == first[row] for row in drawn.keys() & first.keys())  # the first epoch has the same seed
    changed = [row for row in drawn.keys() & again.keys() if drawn[row] != again[row]]
    assert len(changed) > 0.5 * len(drawn)


def test_a_resumed_loader_goes_on_where_it_was(tmp_path: Path) -> None:
    data = ready(data_of(tmp_path, toy_sentences(tmp_path / "data"), "data.redraw=true"), tmp_path)
    complete = [batch.target.input_ids for batch in data.train_dataloader()]
    data.batches_seen = 3
    rest = [batch.target.input_ids for batch in data.train_dataloader()]
    assert len(rest) == len(complete) - 3
    assert all(torch.equal(a, b) for a, b in zip(rest, complete[3:], strict=True))


def test_validation_has_a_noise_of_its_own_that_stays(tmp_path: Path) -> None:
    root = toy_sentences(tmp_path / "data")
    fixed, redrawn = (
        [
            texts_of(*batch.target)
            for batch in ready(data_of(tmp_path, root, f"data.redraw={redraw}"), tmp_path).val_dataloader()
        ]
        for redraw in ("false", "true")
    )
    assert fixed == redrawn


def test_a_file_of_its_own_validates_and_is_not_trained_on(tmp_path: Path) -> None:
    root = toy_sentences(tmp_path / "data")
    lines = root.read_text().splitlines()
    (tmp_path / "valid.txt").write_text("\n".join([lines[0].upper(), *lines[1:40], "a sentence of its own"]) + "\n")
    data = data_of(tmp_path, root, f"data.valid_root={tmp_path / 'valid.txt'}")
    validated = [data.texts[row] for row in data.splits["valid"]]
    assert validated == [lines[0].upper(), *dict.fromkeys(lines[1:40]), "a sentence of its own"]
    trained = {data.texts[row] for split in ("train", "test") for row in data.splits[split]}
    assert not trained & {*lines[:40]}


def test_sentences_without_a_vector_of_the_teacher_are_left_out(tmp_path: Path) -> None:
    root = toy_sentences(tmp_path / "data")
    unknown = "\u4e00\u4e8c\u4e09"  # no piece of micro's covers these; were they, the next line would tell
    teacher = StaticEncoder.load(name="micro", path=None)
    silent = [text for text in (unknown, "\U0001f986", "\u2603\ufe0f", "\u17a2") if not teacher.encode([text]).any()]
    if not silent:
        pytest.fail("none of these texts is without a vector: choose another")
    with root.open("a", encoding="utf-8") as file:
        file.write("\n".join(silent) + "\n")
    data = data_of(tmp_path, root, "data.reader.common_share=0")
    assert set(silent) <= set(data.texts)
    data.embed(teacher, EmbeddingStore(tmp_path / "cache"))
    remaining = {data.texts[row] for rows in data.splits.values() for row in rows}
    assert not remaining & set(silent)
    assert len(remaining) == len(data.texts) - len(silent)


def test_pictures_show_standard_and_noisy_sentences(tmp_path: Path) -> None:
    data = data_of(tmp_path, toy_sentences(tmp_path / "data"))
    sentences, kinds = data.sample_sentences("test", languages=None, per_language=20)
    assert len(set(sentences)) == len(sentences) == len(kinds)
    assert kinds.count("standard") == 20
    assert 5 < kinds.count("noisy") <= 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("data.max_pairs=0", r"data\.max_pairs=0"),
        ("data.noise_workers=0", r"data\.noise_workers=0"),
        ("data.valid_share=1", r"valid_share=1"),
        ("data.valid_share=0", r"0 sentences for validation.*data\.valid_root"),
        ("data.global_batch_size=1000", r"a batch of data\.global_batch_size=1000 sentences is larger"),
        ("data.noise.transform=mixall", r"mix_all"),
        ("data.noise.selection=1.5", r"selection"),
        ("data.redraw=true data.noise.reference_rng=true", r"data\.redraw=true"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(tmp_path: Path, change: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        data_of(tmp_path, toy_sentences(tmp_path / "data"), *change.split())
