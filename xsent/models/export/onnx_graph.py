"""Export an encoder as an ONNX graph, from token ids to sentence embeddings."""

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
from xsent.models.encoders.static import StaticEncoder
from xsent.models.export.pipeline import Pipeline
from xsent.similarity import unit

MODEL = Path("onnx") / "model.onnx"
MAX_FILE_BYTES = 1_900_000_000  # of weights; a protobuf file is limited to 2 GB


def write_onnx(pipeline: Pipeline, folder: Path, *, opset: int) -> None:
    """Write ``onnx/model.onnx``: ids and mask (B, T) int64 in, ``sentence_embedding`` (B, D) float32 out.

    Weights of more than ``MAX_FILE_BYTES`` bytes go to a file beside it.

    Raises:
        ValueError: the folder of modules has no ``tokenizer.json``, which other programs need.
    """
    if not (folder / "tokenizer.json").is_file():
        raise ValueError(f"{folder}: --onnx needs a tokenizer.json, and {pipeline.encoder.name} has none")
    graph = _Graph(pipeline).eval()
    size = sum(value.numel() * 4 for value in graph.parameters())
    path = folder / MODEL
    path.parent.mkdir()
    # Two rows: the exporter takes a size of 1 for a constant.
    ids = torch.ones(2, 3, dtype=torch.int64)
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]])
    axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    with _quiet(), pipeline.encoder.eval_mode(), torch.no_grad():
        torch.onnx.export(
            graph,
            (ids, mask),
            path,
            dynamo=True,
            opset_version=opset,
            external_data=size > MAX_FILE_BYTES,
            input_names=["input_ids", "attention_mask"],
            output_names=["sentence_embedding"],
            dynamic_shapes=(axes, axes),
            verbose=False,
        )


class _Graph(nn.Module):
    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__()
        self.encoder = pipeline.encoder
        self.head = pipeline.head

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        if isinstance(self.encoder, StaticEncoder):
            # A sum over padded rows, because ONNX has no axis for the lengths of embedding bags.
            rows = F.embedding(input_ids, self.encoder.vectors)  # (B, T, D)
            vectors = unit((rows * attention_mask.unsqueeze(-1)).sum(dim=1))
        else:
            vectors = self.encoder(Tokens(input_ids, attention_mask))
        embeddings: Tensor = self.head(vectors)
        return embeddings


@contextmanager
def _quiet() -> Iterator[None]:
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
