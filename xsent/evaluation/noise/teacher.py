"""Teacher of a noise evaluation: embeds fixed texts once, then frees the encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor, nn

from xsent.batch import Embedder
from xsent.distributed import rank
from xsent.evaluation.evaluator import number_texts
from xsent.evaluation.noise.scoring import Embedded


@dataclass(eq=False)
class Teacher:
    """Vectors of fixed texts, computed at first use.

    Args:
        make: builds the encoder.
        name: of the evaluator, for messages.
        device: where the encoder computes.
    """

    make: Callable[[], Embedder]
    name: str
    device: str = "cpu"
    _dim: int | None = None
    _embedded: Embedded | None = None

    def check(self) -> None:
        """Build the encoder once, so that its errors appear before anything is encoded."""
        # It is built again when its vectors are needed: it must not occupy memory during training.
        self._dim = self.dim
        self.__dict__.pop("_encoder", None)

    @cached_property
    def _encoder(self) -> Embedder:
        encoder = self.make()
        return encoder.to(self.device) if isinstance(encoder, nn.Module) else encoder

    @property
    def dim(self) -> int | None:
        """Size of its vectors; None if unknown before the first of them."""
        return self._dim if self._dim is not None else getattr(self._encoder, "dim", None)

    def embedded(self, texts: Iterable[str], like: Tensor, *, compared: bool) -> Embedded:
        """Vectors of the distinct texts.

        Args:
            texts: the same in every call.
            like: (N, D) vectors of the other encoder; the result is on their device.
            compared: vectors of both encoders will be compared.

        Raises:
            ValueError: they have different sizes but will be compared.
        """
        if self._embedded is None:
            if compared:
                self.check_size(like.size(1))
            row_of = number_texts(texts)
            self._embedded = Embedded(row_of, self._encoder.encode(list(row_of), progress=rank() == 0))
            self._dim = self._embedded.vectors.size(1)
            self.__dict__.pop("_encoder", None)
        if compared:
            self.check_size(like.size(1))
        return self._embedded._replace(vectors=self._embedded.vectors.to(like.device))

    def check_size(self, dim: int) -> None:
        """Raise ``ValueError`` if vectors of this size cannot be compared with the teacher's."""
        if self.dim not in (None, dim):
            raise ValueError(
                f"{self.name}: the encoder's vectors have {dim} numbers, the teacher's {self.dim}; for the metrics that"
                " do not compare them set evaluator.drift=false evaluator.bitexts=false"
            )
