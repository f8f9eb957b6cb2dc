"""An encoder that others are compared with: its vectors are made once, and then it is let go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from torch import Tensor, nn

from xsent.batch import Embedder
from xsent.distributed import rank
from xsent.evaluation.noisy_sets import Embedded


class Teacher:
    """Vectors of fixed texts, made when first needed.

    Args:
        make: makes the encoder.
        name: of the evaluator, for messages.

    Attributes:
        device: where it computes, if it can be moved.
    """

    def __init__(self, make: Callable[[], Embedder], *, name: str) -> None:
        self.make = make
        self.name = name
        self.device = "cpu"
        self._dim: int | None = None
        self._embedded: Embedded | None = None

    def check(self) -> None:
        """Make the encoder: what is wrong with it is known before anything is encoded."""
        # It is made again when its vectors are needed, rather than kept all through a training.
        self._dim = self.dim
        self.__dict__.pop("_encoder", None)

    @cached_property
    def _encoder(self) -> Embedder:
        made = self.make()
        return made.to(self.device) if isinstance(made, nn.Module) else made

    @property
    def dim(self) -> int | None:
        """Size of its vectors, if that is known before the first of them."""
        return self._dim if self._dim is not None else getattr(self._encoder, "dim", None)

    def embedded(self, texts: Iterable[str], like: Tensor, *, compared: bool) -> Embedded:
        """Vectors of the distinct texts.

        Args:
            texts: the same at every call.
            like: (N, D) vectors of another encoder; the result is on their device.
            compared: whether the two encoders' vectors will be compared with each other.

        Raises:
            ValueError: they will, and have different sizes.
        """
        if self._embedded is None:
            if compared:
                self.check_size(like.size(1))
            row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
            self._embedded = Embedded(row_of, self._encoder.encode(list(row_of), progress=rank() == 0))
            self._dim = self._embedded.vectors.size(1)
            self.__dict__.pop("_encoder", None)
        if compared:
            self.check_size(like.size(1))
        return self._embedded._replace(vectors=self._embedded.vectors.to(like.device))

    def check_size(self, dim: int) -> None:
        """Raise ``ValueError`` unless vectors of this size can be compared with the teacher's."""
        if self.dim not in (None, dim):
            raise ValueError(
                f"{self.name}: the encoder's vectors have {dim} numbers, the teacher's {self.dim}; what does not"
                " compare one's with the other's can be had by evaluator.drift=false evaluator.bitexts=false"
            )
