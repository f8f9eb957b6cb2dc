import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.data.modules.letters import Letters
from tests.helpers import existing
from xsent.batch import DistillationBatch, EmbeddedBatch, ParallelBatch, Tokens
from xsent.config_checks import UsageError
from xsent.data.modules import base as training_data
from xsent.data.modules.bitext import BitextData
from xsent.data.readers.parallel import SentencePair, read_tables
from xsent.data.readers.rejects import RejectLedger
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.data.test_sets.heldout import HeldOut

PATTERN = r"(?P<source>[a-z]{2,3})-(?P<target>[a-z]{2,3})\.tsv(\.gz)?"
OPTIONS: dict[str, Any] = {
    "name": "made-up",
    "root": None,
    "languages": None,
    "drop_origins": [],
    "paper_split": False,
    "cache_dir": "unused",
}
OPTIONS |= {
    "max_pairs_per_language": None,
    "max_pairs": None,
    "max_lines": None,
    "temperature": 1.0,
    "shares": None,
    "epoch_pairs": None,
    "valid_share": 0.1,
}
OPTIONS |= {"test_share": 0.1, "global_batch_size": 16, "num_workers": 0, "seed": 1, "strict": False}


def made_up(n: int = 200, languages: Sequence[str] = ("deu", "fra")) -> list[SentencePair]:
    return [
        SentencePair(f"number {i}", f"{language} {i}", "eng", language, "", "f", i)
        for language in languages
        for i in range(n)
    ]


def data_of(pairs: Sequence[SentencePair], **options: Any) -> BitextData:
    def reader(ledger: RejectLedger, root: str | None) -> Iterator[SentencePair]:
        return iter(pairs)

    return BitextData(**{**OPTIONS, "reader": reader, **options})


def read(pairs: Sequence[SentencePair] | None = None, **options: Any) -> BitextData:
    data = data_of(made_up() if pairs is None else pairs, **options)
    data.read()
    return data


def test_the_summary_names_files_languages_and_sizes(tmp_path: Path) -> None:
    for code in ("de", "fr"):
        rows = [f"number {i}\t{code} {i}" for i in range(100)]
        (tmp_path / f"en-{code}.tsv").write_text("\n".join([*rows, "broken"]) + "\n")
    reader = partial(read_tables, pattern=PATTERN, columns=None, source_lang=None, target_lang=None)
    data = BitextData(**{**OPTIONS, "root": str(tmp_path), "reader": reader})
    data.read()
    summary = data.summary()
    assert summary["languages"] == ["deu", "eng", "fra"]
    assert (summary["files"], summary["lines"], summary["rejected"]) == (["en-de.tsv", "en-fr.tsv"], 202, 2)
    assert summary["train"] + summary["valid"] + data.size("test") == 200


# ---- batches


def sentence(tokens: Tokens, row: int) -> str:
    ids = tokens.input_ids[row][tokens.attention_mask[row].bool()]
    return "".join(map(chr, ids.tolist()))


@pytest.mark.parametrize("num_workers", [0, 1])
def test_token_batches_hold_the_two_sides_of_the_pairs_they_name(tmp_path: Path, num_workers: int) -> None:
    data = read(cache_dir=str(tmp_path), num_workers=num_workers)
    data.tokenize(Letters())
    sources, targets, _, target_langs = data.sentences("train")
    batches: list[ParallelBatch] = list(data.train_dataloader())
    assert len(batches) == data.steps_per_epoch == len(sources) // 16
    for batch in batches:
        for row, number in enumerate(batch.pairs.row.tolist()):
            assert sentence(batch.source, row) == sources[number]
            assert sentence(batch.target, row) == targets[number]
            assert data.language_codes[batch.pairs.target_lang[row]] == target_langs[number]
            assert data.language_codes[batch.pairs.source_lang[row]] == "eng"


def test_vector_batches_hold_the_vectors_of_the_pairs_they_name_and_held_out_ones_every_pair_once(
    tmp_path: Path,
) -> None:
    data = read()
    data.embed(Letters(), EmbeddingStore(tmp_path))
    loaders = {"train": data.train_dataloader(), "valid": data.val_dataloader(), "test": data.test_dataloader()}
    for split, loader in loaders.items():
        sources, targets, _, _ = data.sentences(split)
        seen: list[int] = []
        batch: EmbeddedBatch
        for batch in loader:
            rows = batch.pairs.row.tolist()
            seen += rows
            torch.testing.assert_close(batch.source, Letters().encode([sources[row] for row in rows]))
            torch.testing.assert_close(batch.target, Letters().encode([targets[row] for row in rows]))
        assert split == "train" or seen == list(range(len(sources)))


@pytest.mark.parametrize("is_embedded", [False, True])
def test_workers_that_are_not_forked_get_the_same_batches(tmp_path: Path, is_embedded: bool) -> None:
    data = read(cache_dir=str(tmp_path))
    if is_embedded:
        data.embed(Letters(), EmbeddingStore(tmp_path))
    else:
        data.tokenize(Letters())
    make = data.batches("train")
    rows = np.array([3, 1, 2])
    torch.testing.assert_close(pickle.loads(pickle.dumps(make))(rows, 0), make(rows, 0))


def test_the_loader_starts_where_the_recipe_says(tmp_path: Path) -> None:
    data = read()
    data.embed(Letters(), EmbeddingStore(tmp_path))
    complete = [batch.pairs.row.tolist() for batch in data.train_dataloader()]
    data.batches_seen = 5
    assert [batch.pairs.row.tolist() for batch in data.train_dataloader()] == complete[5:]


def test_pairs_that_share_a_sentence_are_one_group_in_the_batch(tmp_path: Path) -> None:
    # "number i" has a German and a French translation: they are of one group, all others are not.
    data = read()
    data.embed(Letters(), EmbeddingStore(tmp_path))
    sources = data.sentences("train")[0]
    for batch in data.train_dataloader():
        names = np.array([sources[row] for row in batch.pairs.row])
        same_sentence = torch.from_numpy(names[:, None] == names[None])
        assert torch.equal(batch.pairs.group[:, None] == batch.pairs.group[None], same_sentence)


def test_distillation_batches_have_the_pivot_as_source_and_its_vectors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # English is the source, the target or no side; the last two are the pairs of one sentence and its translations.
    pairs = [
        pair
        for i in range(100)
        for pair in (
            SentencePair(f"number {i}", f"deu {i}", "eng", "deu", "", "f", i),
            SentencePair(f"fra {i}", f"number {i}", "fra", "eng", "", "f", i),
            SentencePair(f"fra {i}", f"spa {i}", "fra", "spa", "", "f", i),
        )
    ]
    data = read(pairs, cache_dir=str(tmp_path))
    test_pairs = data.sentences("test")
    without_pivot = sum(lang == "spa" for split in ("train", "valid") for lang in data.sentences(split)[3])
    total = data.size("train") + data.size("valid")
    data.keep_pivot("eng")
    assert f"{without_pivot} of {total} pairs have no side in eng" in caplog.text
    assert f"left out: fra-spa {without_pivot}" in caplog.text
    data.distill(Letters(), Letters(), EmbeddingStore(tmp_path))
    assert data.size("train") + data.size("valid") == total - without_pivot
    assert data.sentences("test") == test_pairs
    english = data.language_codes.index("eng")
    batch = data.batches("train")(np.arange(data.size("train")), 0)
    assert isinstance(batch, DistillationBatch)
    assert set(batch.pairs.source_lang.tolist()) == {english}
    for row, number in enumerate(batch.pairs.row.tolist()):
        source, target = sentence(batch.source, row), sentence(batch.target, row)
        assert (source, target) == tuple(side[number] for side in data.sentences("train")[:2])
        assert source.split()[1] == target.split()[1]
        assert source.startswith("number")
        assert batch.teacher[row].tolist() == [len(source), ord(source[-1])]


def test_pairs_that_the_teacher_has_no_vector_for_are_left_out(tmp_path: Path) -> None:
    class Blind(Letters):
        def encode(self, sentences: Sequence[str], *, show_progress: bool = False, out: Path | None = None) -> Any:
            vectors = super().encode(sentences) * torch.tensor([["7" not in sentence] for sentence in sentences])
            np.save(out, vectors.numpy())  # type: ignore[arg-type]

    data = read(cache_dir=str(tmp_path))
    data.keep_pivot("eng")
    sources = [data.sentences(split)[0] for split in ("train", "valid")]
    data.distill(Letters(), Blind(), EmbeddingStore(tmp_path))
    for split, before in zip(("train", "valid"), sources, strict=True):
        assert data.sentences(split)[0] == [text for text in before if "7" not in text]


# ---- what is read


def test_the_splits_are_apart_and_together_all() -> None:
    data = read()
    texts = {split: set(data.sentences(split)[0]) for split in ("train", "valid", "test")}
    assert all(texts.values())
    assert sum(map(len, texts.values())) == 200


def test_paper_split_validates_and_tests_on_one_tenth_and_trains_on_the_same_pairs_as_before() -> None:
    plain, paper = read(), read(paper_split=True)
    assert paper.sentences("valid") == paper.sentences("test")
    assert set(paper.sentences("test")[0]) == {*plain.sentences("valid")[0], *plain.sentences("test")[0]}
    assert paper.sentences("train") == plain.sentences("train")


def test_reading_twice_reads_once() -> None:
    data = read()
    data.reader = lambda ledger, root: pytest.fail("read again")
    data.read()


def test_the_digest_is_that_of_the_content_and_not_of_its_order() -> None:
    digest = read().digest()
    assert read(made_up()[::-1]).digest() == digest
    assert read(made_up()[1:]).digest() != digest
    assert read(paper_split=True).digest() != digest
    assert read(test_share=0.2).digest() != digest


def test_sentences_for_a_tokenizer_are_even_over_the_languages_and_only_of_training() -> None:
    data = read([*made_up(200, ["deu"]), *made_up(60, ["fra"])])
    chosen = data.training_sentences(50)
    assert len(chosen) == len(set(chosen))
    by_language = {start: sum(text.startswith(start) for text in chosen) for start in ("number", "deu")}
    assert by_language == {"number": 50, "deu": 50}
    assert set(chosen) <= {text for side in data.sentences("train")[:2] for text in side}


# ---- what is wrong


@pytest.mark.parametrize(
    ("pairs", "options", "message"),
    [
        (
            made_up(),
            {"global_batch_size": 500},
            r"data\.global_batch_size=500 pairs is larger than the training split of 3",
        ),
        (
            [*made_up(), SentencePair("a", "b", "eng", "grn", "", "f", 1)],
            {},
            r"grn has a single pair.*data\.languages=",
        ),
        (made_up(), {"languages": ["de", "ja"]}, r"data\.languages has jpn, the data have eng, deu$"),
        ([], {}, r"no usable pair.*0 of 0 lines rejected"),
        (made_up(), {"languages": ["ro"]}, r"data\.languages has ron, the data have deu, eng, fra"),
        (made_up(), {"valid_share": 1e-6}, r"for validation, at least 2 are needed; raise data\.valid_share"),
    ],
)
def test_data_that_do_not_suffice_are_refused(pairs: list[SentencePair], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(pairs, **options)


def test_a_language_that_does_not_exist_is_an_error_before_anything_is_read() -> None:
    with pytest.raises(ValueError, match="unknown language 'deutsch'"):
        data_of([], languages=["deutsch"])


@pytest.mark.parametrize("shares", [(0.0, 0.1), (0.5, 0.5), (1.2, 0.0), (0.1, -0.1)])
def test_shares_that_leave_nothing_are_an_error(shares: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="valid_share"):
        data_of([], valid_share=shares[0], test_share=shares[1])


def test_a_batch_that_does_not_divide_among_the_devices_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    data = read()
    monkeypatch.setattr(training_data, "world_size", lambda: 3)
    with pytest.raises(ValueError, match=r"data\.global_batch_size=16.* 3 devices"):
        data.train_dataloader()


# ---- several roots


def data_of_roots(**options: Any) -> BitextData:
    def reader(ledger: RejectLedger, root: str | None) -> Iterator[SentencePair]:
        return iter({"small": made_up(100), "large": made_up(1000)}[str(root)])

    return BitextData(**{**OPTIONS, "reader": reader, "root": ["small", "large"], **options})


def test_an_epoch_draws_from_each_root_in_proportion_to_its_share(tmp_path: Path) -> None:
    data = data_of_roots(shares=[3, 1], epoch_pairs=640, temperature=2.0)
    data.read()
    train = data.splits["train"]
    # The large root has the pairs of the small one, too, and they belong to the small one.
    assert train.root.tolist() == [int(int(text.split()[1]) >= 100) for text in data.sentences("train")[0]]
    assert np.bincount(train.root[data.epoch_order(0)]).tolist() == [480, 160]
    data.embed(Letters(), EmbeddingStore(tmp_path))
    assert data.steps_per_epoch == len(data.train_dataloader()) == 640 // 16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"root": []}, r"data\.root=\[\]: expected a file or folder"),
        ({"root": 5}, r"data\.root=5: expected a string"),
        ({"root": ["small", None]}, r"data\.root=None: expected a string"),
        ({"shares": [1, 2, 3]}, r"data\.shares=\[1, 2, 3\]: expected 2, .* found 3"),
        ({"shares": 0.5}, r"data\.shares=\[0\.5\]: expected 2"),
        ({"root": "small", "shares": [0.5, 0.5]}, "expected 1, .* found 2"),
        ({"shares": [1, 0]}, r"data\.shares=0: expected a number above 0"),
        ({"shares": [1, "half"]}, r"data\.shares=half: expected a number above 0"),
        ({"epoch_pairs": 0}, r"data\.epoch_pairs=0: expected an integer"),
        ({"epoch_pairs": 15}, r"data\.epoch_pairs=15: expected a batch at least, data\.global_batch_size=16"),
    ],
)
def test_wrong_roots_shares_and_sizes_are_errors_before_anything_is_read(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        data_of_roots(**options)


def test_a_share_of_a_root_whose_pairs_are_all_in_earlier_ones_is_an_error() -> None:
    data = data_of_roots(root=["large", "small"], shares=[1, 1])
    with pytest.raises(ValueError, match=r"from small for its share 1, found none"):
        data.read()


# ---- held-out test sets


def test_held_out_pairs_become_test_sets_with_english_as_the_target() -> None:
    data = read()
    held_out = HeldOut(pairs_per_language=10)
    held_out.bind(data, "test")
    deu, fra = held_out(None, None)
    assert (deu.name, fra.name) == ("deu-eng", "fra-eng")
    assert len(deu.source) == len(deu.target) == 10
    assert [text.split()[1] for text in deu.source] == [text.split()[1] for text in deu.target]
    assert set(deu.target) <= set(data.sentences("test")[0])
    (only,) = held_out(None, ["fr"])
    assert only == fra


def test_sampled_sentences_are_distinct_and_know_their_language() -> None:
    sentences, languages = read().sample_sentences("test", languages=["deu"], per_language=5)
    assert len(sentences) == len(set(sentences)) == 10
    assert all(
        (language == "deu") == text.startswith("deu") for text, language in zip(sentences, languages, strict=True)
    )


# ---- real data


def test_the_english_guarani_bitext_is_read_whole(shared_data: Path, tmp_path: Path) -> None:
    folder = existing(shared_data / "bitext")
    reader = partial(
        read_tables, columns=None, source_lang=None, target_lang=None, pattern=r"(?P<source>en)-(?P<target>gn)\.tsv\.gz"
    )
    data = read(reader=reader, root=str(folder), drop_origins=["americasnlp*"])
    # The data's description: 1,120 pairs, of which 933 are from AmericasNLP.
    assert sum(len(data.sentences(split)[0]) for split in ("train", "valid", "test")) == 1120 - 933
    assert data.language_codes == ["eng", "grn"]
    assert data.ledger.lines == 1120
    assert not data.ledger.rejects
