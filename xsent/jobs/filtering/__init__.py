"""Divergence filtering of a bitext."""
