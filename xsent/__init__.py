"""Train and evaluate multilingual sentence encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xsent.version import __version__

if TYPE_CHECKING:
    from xsent.run import encoders, load_encoder, load_judge, mine, score
    from xsent.run.api import evaluate, train

__all__ = ["__version__", "encoders", "evaluate", "load_encoder", "load_judge", "mine", "score", "train"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from xsent import run  # on first use: it imports Hydra, and its functions import torch
        from xsent.run import api

        return getattr(api if name in ("evaluate", "train") else run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
