"""Divergences as training items: read, split by seed, sampled by scheme, labelled."""

import pickle
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from xsent.batch import IGNORED, PairTokens, WordPair
from xsent.data.modules.divergences import DivergenceData
from xsent.data.test_sets.heldout import HeldOut, HeldOutDivergences
from xsent.text.divergences.json_format import Divergence, to_json

FOUR = ["subtree_deletion", "phrase_replacement", "generalization", "particularization"]
OPTIONS: dict[str, Any] = {
    "name": "divergences",
    "kinds": FOUR,
    "sampling": "ranking",
    "items": "pairs",
    "source_lang": "eng",
    "target_lang": "fra",
    "max_lines": None,
    "max_pairs": None,
}
OPTIONS |= {"train_seeds": 6, "valid_seeds": 2, "test_seeds": 2, "global_batch_size": 4, "num_workers": 0, "seed": 1}


def record(seed: int, kind: str) -> Divergence:
    """A seed of two words a side; in its divergences the second source word and the first target word changed."""
    changed = kind != "seed"
    source = (f"a{seed}", kind if changed else "b")
    labels = (("O", "CHA"), ("CHA", "O")) if changed else (("O", "O"), ("O", "O"))
    return Divergence(
        f"seed-{seed}", kind, "source" if changed else "", source, (f"c{seed}", "d"), labels[0], labels[1], "", "x"
    )


def write(path: Path, seeds: int = 12, kinds: Sequence[str] = FOUR) -> Path:
    lines = [to_json(record(seed, kind)) for seed in range(seeds) for kind in ("seed", *kinds)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def data(path: Path, **options: Any) -> DivergenceData:
    generated = DivergenceData(root=str(path), **OPTIONS | options)
    generated.read()
    return generated


class OnePiecePerWord:
    """Ids are lengths of words; [CLS] and [SEP] are 0."""

    class Ids:
        def __init__(self, pair: WordPair, limit: int) -> None:
            source, target = (list(range(len(side))) for side in pair)
            words = [-1, *source, -1, *(len(source) + word for word in target), -1]
            self.words = np.array(words[:limit], dtype=np.int32)

    def __init__(self, limit: int = 100) -> None:
        self.most = limit

    def tokenize(self, pairs: Sequence[WordPair]) -> list[Any]:
        return [self.Ids(pair, self.most) for pair in pairs]

    def collate(self, pairs: Sequence[Any]) -> PairTokens:
        words = torch.from_numpy(np.stack([pair.words for pair in pairs])).long()
        return PairTokens(words, torch.ones_like(words), words * 0, words)


def kinds_of(judged: Sequence[tuple[Divergence, bool]]) -> Counter[str]:
    return Counter(record.kind for record, _ in judged)


def test_ranked_items_hold_the_finer_pairs_first_and_then_the_coarser(tmp_path: Path) -> None:
    module = data(write(tmp_path / "d.jsonl"))
    module.tokenize(OnePiecePerWord())
    batch = next(iter(module.train_dataloader()))
    assert batch.divergent.tolist() == [0] * 4 + [1] * 4
    assert len(batch.pairs.row) == 4
    # The label of the changed words, of the coarser pairs alone: [CLS] O CHA [SEP] CHA O [SEP].
    assert (batch.token_labels[:4] == IGNORED).all()
    assert batch.token_labels[4].tolist() == [IGNORED, 0, 1, IGNORED, 1, 0, IGNORED]


def test_workers_that_are_not_forked_get_the_same_batches(tmp_path: Path) -> None:
    module = data(write(tmp_path / "d.jsonl"))
    module.tokenize(OnePiecePerWord())
    make = module.batches("train")
    torch.testing.assert_close(pickle.loads(pickle.dumps(make))(np.array([1]), 0), make(np.array([1]), 0))


def test_each_scheme_has_as_many_items_as_the_paper_says(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl")
    expected = {"ranking": 4, "concatenation": 4, "balanced": 1}
    for sampling, pairs in expected.items():
        judged = data(path, sampling=sampling).labelled_records("train")
        assert len(judged) == 2 * 6 * pairs
    single = data(path, sampling="single", kinds=["generalization", "particularization"]).labelled_records("train")
    assert kinds_of(single) == {"seed": 12, "generalization": 6, "particularization": 6}


def test_contrastive_items_are_the_seeds_once_and_their_own_divergences(tmp_path: Path) -> None:
    judged = data(write(tmp_path / "d.jsonl"), sampling="concatenation", items="contrastive").labelled_records("train")
    assert kinds_of(judged) == {"seed": 6, **dict.fromkeys(FOUR, 6)}
    assert {record.seed for record, _ in judged} == {f"seed-{number}" for number in range(6)}
    assert all(equivalent == (record.kind == "seed") for record, equivalent in judged)


def test_independent_items_have_no_divergence_of_a_seed_that_is_shown_or_held_out(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", seeds=20)
    judged = data(path, sampling="balanced", items="independent").labelled_records("train")
    assert {record.seed for record, equivalent in judged if equivalent} == {f"seed-{number}" for number in range(6)}
    assert {record.seed for record, equivalent in judged if not equivalent} <= {f"seed-{n}" for n in range(10, 20)}
    as_many = data(path, sampling="balanced", items="contrastive").labelled_records("train")
    assert kinds_of(judged) == kinds_of(as_many)


def test_what_is_held_out_is_the_same_whatever_is_trained_on(tmp_path: Path) -> None:
    lines = [to_json(record(seed, kind)) for seed in range(14) for kind in ("seed", *FOUR[seed % 2 :])]
    (tmp_path / "d.jsonl").write_text("\n".join(lines), encoding="utf-8")
    held = []
    for kinds in (["subtree_deletion"], ["particularization"]):
        module = data(tmp_path / "d.jsonl", sampling="single", kinds=kinds, global_batch_size=2, valid_seeds=4)
        held.append({record.seed for record, _ in module.labelled_records("test")})
    # Every other seed has no deletion; the others of the split are the same ones.
    assert held == [{"seed-10"}, {"seed-10", "seed-11"}]


def test_splits_share_no_seed(tmp_path: Path) -> None:
    module = data(write(tmp_path / "d.jsonl"))
    seeds = [{record.seed for record, _ in module.labelled_records(split)} for split in ("train", "valid", "test")]
    assert [len(of_split) for of_split in seeds] == [6, 2, 2]
    assert len(set.union(*seeds)) == 10


def test_a_pair_whose_divergent_words_were_cut_off_is_not_tagged(tmp_path: Path) -> None:
    module = data(write(tmp_path / "d.jsonl"))
    module.tokenize(OnePiecePerWord(limit=2))  # [CLS] and the first source word, which is as it was
    batch = next(iter(module.train_dataloader()))
    assert (batch.token_labels == IGNORED).all()


def test_another_seed_samples_others_and_the_same_seed_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", seeds=60)
    options = {"sampling": "balanced", "train_seeds": 50}
    first, again, second = (data(path, **options, seed=seed) for seed in (1, 1, 2))
    assert first.labelled_records("train") == again.labelled_records("train") != second.labelled_records("train")
    assert first.digest() == again.digest() != second.digest()


def test_the_held_out_set_counts_the_finer_of_two_as_equivalent(tmp_path: Path) -> None:
    read = HeldOutDivergences()
    read.bind(data(write(tmp_path / "d.jsonl")), "test")
    (test_set,) = read(None, None)
    assert test_set.equivalent == [True] * 8 + [False] * 8
    assert Counter(test_set.kinds[:8]) == {"seed": 4, "particularization": 2, "generalization": 2}
    assert (test_set.source_lang, test_set.target_lang) == ("eng", "fra")


def test_held_out_sentences_of_other_data_are_refused(tmp_path: Path) -> None:
    message = "evaluator=heldout needs translation pairs, data=divergences holds divergences of seed pairs"
    with pytest.raises(ValueError, match=message):
        HeldOut(pairs_per_language=1).bind(data(write(tmp_path / "d.jsonl")), "test")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling": "all"}, "data.sampling=all: expected one of single"),
        ({"items": "triples"}, "data.items=triples: expected one of pairs"),
        ({"items": "contrastive"}, "data.sampling=ranking orders pairs"),
        ({"kinds": ["deletion"]}, "data.kinds=deletion: expected some of subtree_deletion"),
        ({"kinds": ["uneven"], "sampling": "balanced"}, "data.kinds=uneven: .* with data.sampling=balanced"),
        ({"valid_seeds": 0}, "expected some"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DivergenceData(root=str(tmp_path / "d.jsonl"), **OPTIONS | options)


@pytest.mark.parametrize(
    ("seeds", "options", "message"),
    [
        (9, {}, r"d.jsonl: 9 seeds with a divergence; data.train_seeds=6, .* need 10"),
        (
            12,
            {"sampling": "single", "kinds": ["insert"]},
            r"4 items of data.kinds=insert is larger than the training split of 0",
        ),
        (
            12,
            {"sampling": "single", "kinds": ["subtree_deletion"], "items": "independent"},
            r"needs 6 divergences of kind subtree_deletion .* found 2; give a smaller",
        ),
    ],
)
def test_a_file_that_does_not_suffice_is_refused(
    tmp_path: Path, seeds: int, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        data(write(tmp_path / "d.jsonl", seeds=seeds), **options)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([record(0, "generalization")], "d.jsonl:1: expected seed seed-0 itself before its divergences"),
        ([record(0, "seed"), record(0, "seed")], "d.jsonl:2: expected another seed, found seed-0 again"),
        ([record(0, "seed"), *[record(0, "insert")] * 2], "d.jsonl:3: expected one insert of a seed, found another"),
        ([record(0, "seed"), record(1, "insert")], "d.jsonl:2: expected seed seed-1 itself"),
    ],
)
def test_a_file_in_disorder_is_refused(tmp_path: Path, lines: list[Divergence], message: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(map(to_json, lines)) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        data(path)


def test_each_of_several_files_is_split_and_shared_sentences_are_in_the_first_alone(tmp_path: Path) -> None:
    first = write(tmp_path / "first.jsonl", seeds=12)
    lines = [to_json(record(seed, kind)) for seed in range(8, 24) for kind in ("seed", "subtree_deletion")]
    second = tmp_path / "second.jsonl"
    second.write_text("\n".join(lines) + "\n", encoding="utf-8")
    both = DivergenceData(root=[str(first), str(second)], **OPTIONS | {"sampling": "single"})
    both.read()
    sources = {
        split: {item.source[0] for item, is_equivalent in both.labelled_records(split) if is_equivalent}
        for split in ("train", "valid", "test")
    }
    assert sources == {
        "train": {f"a{seed}" for seed in (*range(6), *range(12, 18))},
        "valid": {f"a{seed}" for seed in (6, 7, 18, 19)},
        "test": {f"a{seed}" for seed in (8, 9, 20, 21)},
    }
    assert [pair.source[0] for pair in both.spare_seeds()] == ["a10", "a11", "a22", "a23"]


def test_a_file_among_several_with_too_few_seeds_is_named(tmp_path: Path) -> None:
    files = [str(write(tmp_path / name, seeds=seeds)) for name, seeds in (("a.jsonl", 4), ("b.jsonl", 12))]
    with pytest.raises(ValueError, match=r"a\.jsonl: 4 seeds with a divergence"):
        DivergenceData(root=files, **OPTIONS).read()


@pytest.mark.parametrize("cap", [{"max_pairs": 40}, {"max_lines": 200}])
def test_a_cap_shrinks_the_splits_in_proportion_to_half_of_the_seeds(tmp_path: Path, cap: dict[str, int]) -> None:
    # 100 seeds of five lines; the cap leaves 40, of which 20 are shared out as 60 : 20 : 20.
    capped = data(write(tmp_path / "d.jsonl", seeds=100), train_seeds=60, valid_seeds=20, test_seeds=20, **cap)
    assert capped.sizes == {"train": 12, "valid": 4, "test": 4}
    assert len(capped.spare_seeds()) == 20
