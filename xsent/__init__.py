"""Train and evaluate multilingual sentence encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xsent.run import load_encoder

__version__ = "0.1.0"
__all__ = ["__version__", "load_encoder"]


def __getattr__(name: str) -> object:
    # torch takes seconds to import: only those who load an encoder pay for it.
    if name == "load_encoder":
        from xsent.run import load_encoder

        return load_encoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
