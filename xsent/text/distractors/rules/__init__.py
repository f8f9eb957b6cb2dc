"""Distractors by rules: one word, number, name or negation of a sentence is changed."""

from xsent.text.distractors.rules.maker import RuleMaker

__all__ = ["RuleMaker"]
