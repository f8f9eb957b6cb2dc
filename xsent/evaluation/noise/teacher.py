"""Teacher of a noise evaluation: embeds fixed texts once, then frees the encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

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
    _dim: int | None = None  # size of its vectors; None: unknown before the first of them
    _embedded: Embedded | None = None

    def check(self) -> None:
        """Build the encoder once, so that its errors appear before anything is encoded."""
        self._dim = getattr(self._build(), "dim", None)  # it must not occupy memory during training

    def _build(self) -> Embedder:
        encoder = self.make()
        return encoder.to(self.device) if isinstance(encoder, nn.Module) else encoder

    def embedded(self, texts: Iterable[str], like: Tensor, *, compared: bool) -> Embedded:
        """Vectors of the distinct texts.

        Args:
            texts: the same in every call.
            like: (N, D) vectors of the other encoder; the result is on their device.
            compared: vectors of both encoders will be compared.

        Raises:
            ValueError: they have different sizes but will be compared.
        """
        if compared:
            self.check_size(like.size(1))
        if self._embedded is None:
            row_of = number_texts(texts)
            self._embedded = Embedded(row_of, self._build().encode(list(row_of), progress=rank() == 0))
            self._dim = self._embedded.vectors.size(1)
            if compared:
                self.check_size(like.size(1))
        return self._embedded._replace(vectors=self._embedded.vectors.to(like.device))

    def check_size(self, dim: int) -> None:
        """Raise ``ValueError`` if vectors of this size cannot be compared with the teacher's."""
        if self._dim not in (None, dim):
            raise ValueError(
                f"{self.name}: the encoder's vectors have {dim} numbers, the teacher's {self._dim}; for the metrics"
                " that do not compare them set evaluator.drift=false evaluator.bitexts=false"
            )
