"""What all encoders offer: ``encode`` texts to vectors, and ``similarity`` of texts or vectors."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from xsent.batch import Precision
from xsent.config_checks import UsageError, check_choice, check_device, check_integer, check_space
from xsent.files.array_file import ArrayFile
from xsent.files.atomic import atomic_path
from xsent.quantization import DTYPES, check_length_one, dequantise, quantise, stored_size
from xsent.similarity import check_finite, cos_sim, encoder_name, unit


class EncodeOptions(NamedTuple):
    """Options of ``SentenceEmbedder.encode`` that concern batches and results."""

    batch_size: int | None
    normalize: bool
    show_progress: bool
    precision: Precision
    out: Path | None

    def allocate(self, rows: int, dim: int) -> NDArray[Any] | ArrayFile:
        """Zeros for the result, in memory or in the file ``out``."""
        kind, shape = DTYPES[self.precision], (rows, stored_size(dim, self.precision))
        if self.out is None:
            return np.zeros(shape, dtype=kind)
        return ArrayFile(self.out, dtype=kind, shape=shape)

    def finish(self, embeddings: Tensor) -> NDArray[Any]:
        """Embeddings (B, D) float32 as the result has them: of length one, or in fewer bits, if so chosen."""
        return quantise(unit(embeddings) if self.normalize else embeddings, self.precision)


class SentenceEmbedder(ABC):
    """Base class of all encoders and of runs with heads."""

    spaces: tuple[str, ...] = ("original",)  # of the vectors; the first is that of ``encode``

    @abstractmethod
    def truncate_dim(self, dim: int) -> None:
        """Truncate the vectors to their first numbers, in place; of length one again if they had it.

        Raises:
            UsageError: fewer than 1 or more than the vectors have.
        """

    def encode(
        self,
        sentences: str | Iterable[str],
        *,
        batch_size: int | None = None,
        device: str | torch.device | None = None,
        space: str | None = None,
        normalize: bool = False,
        show_progress: bool = False,
        precision: Precision = "float32",
        out: str | Path | None = None,
    ) -> Tensor:
        """Embed sentences.

        Sentences of similar length form a batch, up to a number of tokens that suits the device, halved each time
        memory runs out. The size of the batches changes speed and memory, and the vectors by rounding at most.

        Args:
            sentences: one text, or N texts. A text without a token gets the zero vector and is counted in a warning.
            batch_size: most sentences in a batch; None: the number of tokens alone limits it.
            device: where to compute; the encoder moves there for this call and back. None: where it is.
            space: of a run with heads: ``meaning`` (its default), ``language`` or ``original``.
            normalize: whether vectors get length one.
            show_progress: whether to show a progress bar.
            precision: ``float32``; ``bfloat16``: computes with weights in bfloat16, the result is float32. The others
                compute in float32 and return fewer bits (``xsent.quantization``): ``float16``; ``int8``: whole numbers,
                each vector scaled to its own largest value, which cosines do not depend on; ``binary``: the signs,
                eight in a byte, (N, D / 8) uint8.
            out: a ``.npy`` file to write the vectors to; the result is then a memory map of that file, which appears
                when it is complete.

        Returns:
            (D,) for one text, (N, D) for several, in their order; on the CPU. Of ``binary`` D / 8 bytes.

        Raises:
            ValueError: an unknown space, precision or device.
            TypeError: a sentence is not a string.
            NotFiniteError: a vector is not finite; names the encoder, the row and the text.
            RuntimeError: the memory is too small for one text.
            OSError: the disk of ``out`` is full, found before the first sentence is encoded.
        """
        if isinstance(sentences, str):
            if out is not None:
                raise ValueError(f"out={out}: expected a list of sentences for a file, found one string")
            sentences, is_single = [sentences], True
        else:
            is_single = False
            sentences = sentences if isinstance(sentences, Sequence) else list(sentences)
        if batch_size is not None:
            check_integer("batch_size", batch_size, minimum=1)
        check_choice("precision", precision, get_args(Precision))
        space = self.spaces[0] if space is None else space
        check_space(space, self.spaces)
        if normalize:
            check_length_one(precision, option="normalize=True")
        options = EncodeOptions(batch_size, normalize, show_progress, precision, None)
        with _moved(self._networks(), device):
            if out is None:
                vectors = self._encode(sentences, space, options)
            else:
                with atomic_path(Path(out)) as temporary:
                    self._encode(sentences, space, options._replace(out=temporary))
                vectors = np.load(out, mmap_mode="r+" if len(sentences) else None)  # no map without rows
        result = torch.from_numpy(vectors)
        return result[0] if is_single else result

    def similarity(
        self, a: str | Iterable[str] | Tensor | NDArray[Any], b: str | Iterable[str] | Tensor | NDArray[Any]
    ) -> Tensor:
        """Cosines (M, N) of M and N texts or vectors of any precision; one text or one vector counts as a row.

        Raises:
            ValueError: the vectors have different sizes.
            NotFiniteError: a vector is not finite.
        """
        left, right = self._rows(a), self._rows(b)
        if left.size(1) != right.size(1):
            raise ValueError(f"expected vectors of one size, found {left.size(1)} and {right.size(1)}")
        return cos_sim(left, right)

    def _rows(self, side: str | Iterable[str] | Tensor | NDArray[Any]) -> Tensor:
        if isinstance(side, np.ndarray) and side.dtype.kind in "fiu":
            side = torch.from_numpy(side)
        vectors = side if isinstance(side, Tensor) else self.encode(side)
        rows = dequantise(vectors[None] if vectors.ndim == 1 else vectors)
        check_finite(rows, encoder_name(self))
        return rows

    @abstractmethod
    def _encode(self, sentences: Sequence[str], space: str, options: EncodeOptions) -> NDArray[Any] | ArrayFile:
        """Vectors (N, D) in a space, in what ``options.allocate`` returns."""

    @abstractmethod
    def _networks(self) -> Sequence[nn.Module]:
        """What computes the vectors."""


def check_dim(name: str, dim: int, largest: int) -> None:
    """Raise ``UsageError`` unless the vectors of this encoder can be truncated to the size."""
    if not isinstance(dim, int) or isinstance(dim, bool) or not 1 <= dim <= largest:
        raise UsageError(f"dim={dim}: expected 1 to {largest}, the size of the vectors of {name}")


@contextmanager
def _moved(networks: Sequence[nn.Module], device: str | torch.device | None) -> Iterator[None]:
    """Compute on a device in a ``with`` block."""
    if device is None:
        yield
        return
    check_device(str(device))
    homes = [next(network.parameters()).device for network in networks]
    try:
        for network in networks:
            network.to(device)
        yield
    finally:
        for network, home in zip(networks, homes, strict=True):
            network.to(home)
