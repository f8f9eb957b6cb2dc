"""Sequence-to-sequence translation models."""
