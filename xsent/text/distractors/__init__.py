"""Distractors: near-copies of sentences with another meaning, by rules or by a language model."""
