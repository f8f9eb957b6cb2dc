"""Noise: clean sentences become what people type (docs/noise.md)."""

from __future__ import annotations

from xsent.text.noise.noiser import Noised, Noiser
from xsent.text.noise.parallel import noise_all
from xsent.text.noise.plans import MIX_ALL, TRANSFORMATIONS, Applied

__all__ = ["MIX_ALL", "TRANSFORMATIONS", "Applied", "Noised", "Noiser", "noise_all"]
