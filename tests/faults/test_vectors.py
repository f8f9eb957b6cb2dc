"""Vectors that are not finite, and batches for which memory runs out: an error naming the text, or equal vectors."""

import logging
import math
import resource
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import xsent
from tests.child_processes import exit_code
from tests.faults.inject import contents
from tests.models.small import pair_transformer, small_encoder
from xsent.batch import WordPair
from xsent.evaluation.evaluator import Evaluation, Evaluator, score_spaces
from xsent.evaluation.mteb.model import numpy_encode
from xsent.evaluation.search.exact import knn, knn_both
from xsent.evaluation.search.ivf import nearest_cells
from xsent.evaluation.search.margin import best_targets, pair_margins
from xsent.jobs.encode import EncodeOptions, encode_file
from xsent.jobs.filtering.filter import filter_bitext
from xsent.jobs.filtering.filter import options_from as filter_options
from xsent.jobs.mining.engines import run_locally
from xsent.jobs.mining.mine import mine_files
from xsent.jobs.mining.settings import options_from as mining_options
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.disentangled import DisentangledEncoder, DisentanglingHeads
from xsent.models.encoders.static import StaticEncoder
from xsent.models.encoders.tiny import TinyEncoder
from xsent.models.export.pipeline import build_pipeline, expected_vectors
from xsent.models.pairs.cosine_judge import CosineJudge
from xsent.models.pairs.cross_encoder import PairEncoder
from xsent.run import load_config

VALUES = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "length beyond float32": 1e38}
BAD = "w7 w8"
TEXTS = ["w1 w2", "w3", "w4 w5 w6", BAD, "w9 w10", "w7"]  # w7 is the damaged word
NOT_FINITE = "is not finite; the weights of the encoder diverged in training or are damaged: use another checkpoint"


def transformer() -> Encoder:
    return small_encoder(normalize=False).eval()


def static() -> StaticEncoder:
    return StaticEncoder.load(name="micro", path=None)


def damaged(value: float) -> Encoder:
    """A transformer with one number of the vector of w7 replaced."""
    encoder = transformer()
    row = encoder.tokenize(["w7"])[0][1]
    with torch.no_grad():
        encoder.word_vectors[row, 3] = value
    return encoder


# ---- vectors of our encoders


@pytest.mark.parametrize("option", ["plain", "normalize", "bfloat16", "int8", "out", "batches of one"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=str)
def test_encode_names_the_first_text_whose_vector_is_not_finite(value: float, option: str, tmp_path: Path) -> None:
    options: dict[str, dict[str, Any]] = {
        "plain": {},
        "normalize": {"normalize": True},
        "bfloat16": {"precision": "bfloat16"},
        "int8": {"precision": "int8"},
        "out": {"out": tmp_path / "vectors.npy"},
        "batches of one": {"batch_size": 1},
    }
    encoder = damaged(value)
    with pytest.raises(FloatingPointError) as error:
        encoder.encode(TEXTS, **options[option])
    assert str(error.value) == f"small: the vector of row 3 ({BAD!r}) {NOT_FINITE}"
    assert not list(tmp_path.iterdir())
    healthy = [text for text in TEXTS if "w7" not in text]
    assert bool(encoder.encode(healthy).isfinite().all())


@pytest.mark.parametrize("space", ["meaning", "language"])
@pytest.mark.parametrize("value", VALUES.values(), ids=list(VALUES))
def test_a_head_with_vectors_that_are_not_finite_is_named(value: float, space: str) -> None:
    encoder = transformer()
    heads = DisentanglingHeads(encoder.dim, [])
    with torch.no_grad():
        getattr(heads, space).bias[2] = value
    embedder = DisentangledEncoder(encoder, heads)
    message = rf"small, space {space}: the vector of row 0 \('w1 w2'\) is not finite"
    for encode in (embedder.encode, embedder.embed, partial(embedder.encode, space=space, normalize=True)):
        with pytest.raises(FloatingPointError, match=message):
            encode(TEXTS)
    with pytest.raises(FloatingPointError, match=message):
        xsent.mine(TEXTS, TEXTS, encoder=embedder, space=space)


# ---- vectors of others


class Foreign:
    """An encoder of others: hashed letters, and a number that is not finite in the vector of one text."""

    name = "foreign"
    spaces = ("original",)

    def __init__(self, value: float) -> None:
        self.value = value

    def encode(self, sentences: str | Sequence[str], **_: Any) -> Tensor:
        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        vectors = torch.zeros(len(texts), 8)
        for row, text in enumerate(texts):
            for position, letter in enumerate(text.encode()):
                vectors[row, letter % 7] += 1 + position / 10
            vectors[row, 7] = self.value if text == BAD else 1.0
        return vectors

    def digest(self) -> str:
        return f"foreign {self.value}"


class Identity(Evaluator):
    """Scores nothing."""

    name = "identity"

    def check(self) -> None: ...

    def metric_names(self) -> list[str]:
        return []

    def digest(self) -> str:
        return ""

    def sentences(self) -> list[str]:
        return TEXTS

    def score(self, vectors: Tensor) -> Evaluation:
        return Evaluation({"identity/sum": float(vectors.sum())}, [])


def _file(folder: Path, *, tabs: bool = False) -> Path:
    path = folder / "text"
    path.write_text("".join(f"{text}\tsome text\n" if tabs else f"{text}\n" for text in TEXTS), encoding="utf-8")
    return path


def _mine_job(encoder: Foreign, folder: Path, search: str = "exact") -> None:
    options = mining_options(load_config("mine", [f"search_method={search}", "ivf.cell_size=2"]))
    job: dict[str, Any] = {"load": lambda: encoder, "engine": run_locally, "options": options, "keep_work": True}
    source = _file(folder)
    mine_files(source, source, folder / "out", space=None, device="cpu", work_dir=None, **job)


def _encode_job(encoder: Foreign, folder: Path, block: int = 100) -> None:
    options = EncodeOptions(None, False, "float32", None, "cpu", block)
    source, load = _file(folder), lambda: encoder
    encode_file(source, folder / "out.npy", load=load, options=options, work_dir=None, keep_work=True)  # type: ignore[arg-type]


def _filter_job(encoder: Foreign, folder: Path) -> None:
    judge = CosineJudge(encoder, "foreign", threshold=0.4, word_threshold=0.3)  # type: ignore[arg-type]
    options = filter_options(load_config("filter", ["threshold=0.4", "workers=1"]))
    job: dict[str, Any] = {"load": lambda: judge, "device": "cpu", "options": options}
    filter_bitext(_file(folder, tabs=True), folder / "out", work_dir=None, keep_work=True, **job)


ROW = rf"the vector of row 3 \('{BAD}'\) is not finite"
VECTORS = r"search: the vector of row 3 is not finite"
# Consumers of vectors, and the message: with the encoder and the text where the consumer knows them.
CONSUMERS: dict[str, tuple[Callable[[Any, Path], object], str]] = {
    "xsent.mine": (lambda encoder, _: xsent.mine(TEXTS, TEXTS[::-1], encoder=encoder), f"foreign: {ROW}"),
    "xsent.score": (
        lambda encoder, _: xsent.score(list(zip(TEXTS, TEXTS, strict=True)), encoder=encoder),
        f"foreign: {ROW}",
    ),
    "xsent.score margin": (
        lambda encoder, _: xsent.score(list(zip(TEXTS, TEXTS, strict=True)), encoder=encoder, margin="ratio"),
        f"foreign: {ROW}",
    ),
    "mine_files": (_mine_job, "source, line 4: the vector of foreign is not finite"),
    "mine_files ivf": (partial(_mine_job, search="ivf"), "source, line 4: the vector of foreign is not finite"),
    "encode_file": (_encode_job, r"text:4: the vector of foreign is not finite"),
    "encode_file blocks": (partial(_encode_job, block=2), r"text:4: the vector of foreign is not finite"),
    "filter_bitext": (_filter_job, r"text: pairs 1 to 6: .*not finite"),
    "evaluator": (lambda encoder, _: Identity()(encoder.encode), f"foreign: {ROW}"),
    "score_spaces": (
        lambda encoder, _: score_spaces(Identity(), {"original": encoder.encode(TEXTS)}),
        f"space original: {ROW}",
    ),
    "mteb": (lambda encoder, _: numpy_encode(encoder, None)(TEXTS), f"foreign: {ROW}"),
    "knn queries": (lambda encoder, _: knn(encoder.encode(TEXTS), torch.ones(4, 8), 2), VECTORS),
    "knn pool": (lambda encoder, _: knn(torch.ones(4, 8), encoder.encode(TEXTS), 2), VECTORS),
    "knn_both": (lambda encoder, _: knn_both(torch.ones(4, 8), encoder.encode(TEXTS), 2), VECTORS),
    "best_targets": (
        lambda encoder, _: best_targets(encoder.encode(TEXTS), torch.ones(4, 8), margin="ratio", k=2, candidates="all"),
        VECTORS,
    ),
    "pair_margins": (
        lambda encoder, _: pair_margins(
            torch.ones(6, 8), torch.ones(6, 8), (encoder.encode(TEXTS), torch.ones(6, 8)), margin="ratio", k=2
        ),
        VECTORS,
    ),
    "nearest_cells": (lambda encoder, _: nearest_cells(torch.ones(2, 8), encoder.encode(TEXTS), 2), "of row 3 is not"),
    "similarity": (
        lambda encoder, _: static().similarity(encoder.encode(TEXTS), torch.ones(8)),
        "micro: .* row 3 is not",
    ),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=list(VALUES))
@pytest.mark.parametrize(("consume", "message"), CONSUMERS.values(), ids=list(CONSUMERS))
def test_every_consumer_of_vectors_refuses_those_that_are_not_finite(
    consume: Callable[[Any, Path], object], message: str, value: float, tmp_path: Path
) -> None:
    with pytest.raises((FloatingPointError, ValueError), match=message):
        consume(Foreign(value), tmp_path)
    assert not {"out", "out.npy"} & set(contents(tmp_path))
    assert all(np.isfinite(np.load(file)).all() for file in tmp_path.rglob("*.npy"))  # of the work folder
    (tmp_path / "healthy").mkdir()
    consume(Foreign(1.0), tmp_path / "healthy")


def test_the_export_of_a_head_that_is_not_finite_is_refused() -> None:
    encoder = transformer()
    heads = DisentanglingHeads(encoder.dim, [])
    with torch.no_grad():
        next(heads.meaning.parameters())[0] = math.nan
    pipeline = build_pipeline(DisentangledEncoder(encoder, heads), space="meaning")
    with pytest.raises(
        FloatingPointError, match=r"small, space meaning: the vector of row 0 \('w1 w2'\) is not finite"
    ):
        expected_vectors(pipeline, TEXTS)


# ---- memory that runs out


def _of_cpu() -> Exception:
    return RuntimeError("[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: 12")


ERRORS: dict[str, Callable[[], Exception]] = {
    "cpu": _of_cpu,
    "cuda": lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "python": MemoryError,
}
MANY = [f"w{number % 40} " * (1 + number % 9) for number in range(120)] + ["", "w1"]


def tiny() -> Encoder:
    return TinyEncoder(name="small", dim=8, buckets=512, max_length=64, seed=0)


ENCODERS: dict[str, tuple[Callable[[], Encoder], bool]] = {  # and whether the batch changes no bit of a vector
    "transformer": (lambda: small_encoder().eval(), False),
    "tiny": (tiny, True),
    "static": (static, True),
}


def limit_memory(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch, error: Callable[[], Exception], fits: Callable[[int], bool]
) -> list[int]:
    """Let ``embed_ids`` fail for a number of sentences that does not fit; returns the sizes of the other batches."""
    sizes: list[int] = []
    embed = encoder.embed_ids

    def embed_limited(ids: Tensor, lengths: Tensor) -> Tensor:
        if not fits(len(lengths)):
            raise error()
        sizes.append(len(lengths))
        return embed(ids, lengths)

    monkeypatch.setattr(encoder, "embed_ids", embed_limited)
    return sizes


@pytest.mark.parametrize("most", [1, 3, 17])
@pytest.mark.parametrize("error", ERRORS.values(), ids=list(ERRORS))
@pytest.mark.parametrize(("make", "is_exact"), ENCODERS.values(), ids=list(ENCODERS))
def test_smaller_batches_give_the_same_vectors(
    make: Callable[[], Encoder],
    is_exact: bool,
    error: Callable[[], Exception],
    most: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    encoder = make()
    expected = encoder.encode(MANY)
    caplog.clear()
    sizes = limit_memory(encoder, monkeypatch, error, lambda size: size <= most)
    vectors = encoder.encode(MANY)
    if is_exact:
        assert torch.equal(vectors, expected)
    else:
        torch.testing.assert_close(vectors, expected, rtol=0, atol=1e-6)
    assert max(sizes) <= most
    warnings = [record.getMessage() for record in caplog.records if "memory" in record.getMessage()]
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{encoder.name}: not enough memory for ")


@pytest.mark.parametrize("option", ["normalize", "bfloat16", "int8", "out", "batch_size"])
def test_smaller_batches_keep_the_options_of_encode(
    option: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options: dict[str, dict[str, Any]] = {
        "normalize": {"normalize": True},
        "bfloat16": {"precision": "bfloat16"},
        "int8": {"precision": "int8"},
        "out": {"out": tmp_path / "vectors.npy"},
        "batch_size": {"batch_size": 50},
    }
    encoder = tiny()
    expected = encoder.encode(MANY, **options[option]).clone()
    sizes = limit_memory(encoder, monkeypatch, _of_cpu, lambda size: size <= 7)
    assert torch.equal(encoder.encode(MANY, **options[option]), expected)
    assert len(sizes) > len(MANY) // 7
    if option == "out":
        assert np.array_equal(np.load(tmp_path / "vectors.npy"), expected.numpy())


@pytest.mark.parametrize("number", range(6))
def test_memory_that_runs_out_once_costs_no_vector(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = tiny()
    expected = encoder.encode(MANY)
    calls = iter(range(1000))
    sizes = limit_memory(encoder, monkeypatch, _of_cpu, lambda _: next(calls) != number)
    assert torch.equal(encoder.encode(MANY, batch_size=20), expected)
    assert sum(sizes) == len(MANY) - 1  # the empty one has no token


@pytest.mark.parametrize("error", ERRORS.values(), ids=list(ERRORS))
def test_a_text_that_alone_needs_too_much_memory_is_named(
    error: Callable[[], Exception], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    encoder = tiny()
    limit_memory(encoder, monkeypatch, error, lambda _: False)
    with pytest.raises(RuntimeError, match=r"^small: not enough memory for row 17 alone, a text of \d+ tokens: "):
        encoder.encode(MANY, out=tmp_path / "vectors.npy")
    assert not list(tmp_path.iterdir())


def _encode_in_little_memory() -> None:
    encoder, small = small_encoder().eval(), small_encoder().eval()
    texts = [f"w{row % 40} w{row * 7 % 40} " * 12 for row in range(8000)]
    expected = small.encode(texts[:500])
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("xsent.models.batching").addHandler(handler)
    encoder.cpu_token_budget = 10_000_000  # all texts in one batch
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 100 * 2**20, resource.RLIM_INFINITY))
    vectors = encoder.encode(texts)
    torch.testing.assert_close(vectors[:500], expected, rtol=0, atol=1e-6)
    assert len(messages) == 1
    assert "not enough memory for 8000 texts" in messages[0]


@pytest.mark.exhaustive
def test_a_process_with_little_memory_encodes_in_smaller_batches() -> None:
    assert exit_code(_encode_in_little_memory) == 0


def test_another_error_is_not_taken_for_a_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = tiny()
    sizes = limit_memory(encoder, monkeypatch, lambda: RuntimeError("mat1 and mat2 shapes differ"), lambda _: False)
    with pytest.raises(RuntimeError, match=r"^mat1 and mat2 shapes differ$"):
        encoder.encode(MANY)
    assert sizes == []


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_judge_of_pairs_gives_the_same_scores_in_smaller_batches(
    most: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    judge = pair_judge()
    pairs = [WordPair(("a", "red", "house") * (1 + row % 4), ("ein", "rotes", "Haus")) for row in range(20)]
    expected = judge.judge(pairs)
    score = judge._score

    def score_limited(tokens: Any, **options: Any) -> Any:
        if len(tokens.input_ids) > most:
            raise _of_cpu()
        return score(tokens, **options)

    monkeypatch.setattr(judge, "_score", score_limited)
    caplog.set_level(logging.WARNING)
    for judgement, before in zip(judge.judge(pairs), expected, strict=True):
        assert judgement.score == pytest.approx(before.score, abs=1e-5)
    assert sum("not enough memory" in message for message in caplog.messages) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf], ids=str)
def test_a_judge_with_a_score_that_is_not_finite_names_the_pair(value: float) -> None:
    judge = pair_judge()
    with torch.no_grad():
        judge.pair_head.weight[0] = value
    pairs = [WordPair(("a",), ("ein", "Haus")), WordPair(("red", "house"), ("rotes", "Haus"))]
    with pytest.raises(FloatingPointError, match="the score of pair 0, from 0, is not finite"):
        judge.judge(pairs)


def pair_judge() -> PairEncoder:
    options: dict[str, Any] = {"pooling": "cls", "max_length": 32, "segment_ids": "pair", "dropout": 0.1}
    return PairEncoder(base=pair_transformer(), tags_words=True, seed=1, **options).eval()
