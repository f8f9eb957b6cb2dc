"""Distractors without a model: one word, number, name or denial of a sentence changed by rule."""

from xsent.text.distractors.rules.maker import RuleMaker

__all__ = ["RuleMaker"]
