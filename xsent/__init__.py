"""Train and evaluate multilingual sentence encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xsent.version import __version__

if TYPE_CHECKING:
    from xsent.run import load_encoder

__all__ = ["__version__", "load_encoder"]


def __getattr__(name: str) -> object:
    # Imported on first use: torch takes seconds.
    if name == "load_encoder":
        from xsent.run import load_encoder

        return load_encoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
