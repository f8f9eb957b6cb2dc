"""The console command ``xsent``: a module for each command; what takes long to import is imported when it runs."""

from __future__ import annotations

from xsent.cli.command import main

__all__ = ["main"]
