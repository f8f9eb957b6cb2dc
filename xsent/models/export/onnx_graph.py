"""The whole pipeline, from the ids of tokens to the vector of the sentence, as a graph for onnxruntime."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xsent.batch import Tokens
from xsent.models.export.pipeline import Pipeline
from xsent.models.static_encoder import StaticEncoder
from xsent.similarity import unit

MODEL = Path("onnx") / "model.onnx"
ONE_FILE = 1_900_000_000  # bytes of weights; a file of protobuf ends at 2 GB


def write_onnx(pipeline: Pipeline, folder: Path, *, opset: int) -> None:
    """Write ``onnx/model.onnx``; ids and mask (B, T) int64 in, ``sentence_embedding`` (B, D) float32 out.

    Weights of more than ``ONE_FILE`` bytes go to a file beside it.

    Args:
        pipeline: what the folder holds.
        folder: of the modules.
        opset: version of ONNX's operators.

    Raises:
        ValueError: the tokenizer is not in a file that other programs could read.
    """
    if not (folder / "tokenizer.json").is_file():
        raise ValueError(f"{folder}: --onnx needs a tokenizer.json, which {pipeline.encoder.name} has none of")
    graph = _Graph(pipeline).eval()
    size = sum(value.numel() * 4 for value in graph.parameters())
    path = folder / MODEL
    path.parent.mkdir()
    # Two of everything: a size of one would be taken for a constant.
    ids = torch.ones(2, 3, dtype=torch.int64)
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]])
    axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    with _quiet(), pipeline.encoder.evaluating(), torch.no_grad():
        torch.onnx.export(
            graph, (ids, mask), path, dynamo=True, opset_version=opset, external_data=size > ONE_FILE,
            input_names=["input_ids", "attention_mask"], output_names=["sentence_embedding"],
            dynamic_shapes=(axes, axes), verbose=False,
        )  # fmt: skip


class _Graph(nn.Module):
    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__()
        self.encoder = pipeline.encoder
        self.head = pipeline.head

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        if isinstance(self.encoder, StaticEncoder):
            # As a sum over padded rows: lengths of bags are no axis of a graph.
            rows = F.embedding(input_ids, self.encoder.vectors)  # (B, T, D)
            vectors = unit((rows * attention_mask.unsqueeze(-1)).sum(dim=1))
        else:
            vectors = self.encoder(Tokens(input_ids, attention_mask))
        embeddings: Tensor = self.head(vectors)
        return embeddings


@contextmanager
def _quiet() -> Iterator[None]:
    """What the exporter says of its own steps is of no use to who exports."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
