"""Searches over settings: ``python train.py hparams_search=<name>``; ``docs/sweeps.md`` tells how."""

from __future__ import annotations

from xsent.run.search.searching import run_search, search

__all__ = ["run_search", "search"]
