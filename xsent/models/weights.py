"""Weights of other people's files, read without running anything in them."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The tensors of ``model.safetensors``, else of ``pytorch_model.bin``, by name.

    Raises:
        FileNotFoundError: there is neither.
        pickle.UnpicklingError: the second holds more than plain tensors.
    """
    if (folder / "model.safetensors").is_file():
        return load_file(folder / "model.safetensors")
    old = folder / "pytorch_model.bin"
    if not old.is_file():
        raise FileNotFoundError(f"{folder}: expected model.safetensors or pytorch_model.bin, found neither")
    loaded: dict[str, Tensor] = torch.load(old, map_location="cpu", weights_only=True)
    return loaded
