"""Noise generation: clean sentences become user-generated text (docs/noise.md)."""

from xsent.text.noise.mixtures import MIX_ALL, MIXTURES, REGISTRY, TRANSFORMATIONS, Step
from xsent.text.noise.noiser import Noiser, NoisySentence
from xsent.text.noise.parallel import noise_sentences

__all__ = ["MIXTURES", "MIX_ALL", "REGISTRY", "TRANSFORMATIONS", "Noiser", "NoisySentence", "Step", "noise_sentences"]
