"""The console command ``xsent``."""

from xsent.cli.main import COMMANDS, build_parsers, main

__all__ = ["COMMANDS", "build_parsers", "main"]
