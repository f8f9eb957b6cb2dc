"""Grids of runs: studies of published tables and hyper-parameter searches."""
