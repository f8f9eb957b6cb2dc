"""Filtering, splitting, grouping and ordering of training pairs."""
