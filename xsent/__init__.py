"""Train and evaluate multilingual sentence encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xsent.version import __version__

if TYPE_CHECKING:
    from xsent.run import encoders, load_encoder, mine, score

__all__ = ["__version__", "encoders", "load_encoder", "mine", "score"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from xsent import run  # on first use: it imports Hydra, and its functions import torch

        return getattr(run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
