"""Options in, a job started, one line said when it ends or cannot begin."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Sequence

from xsent.cli import augment, compare, distract, diverge, export, filter, mine, mteb, noise

log = logging.getLogger("xsent")

COMMANDS = (mine, augment, noise, diverge, filter, distract, export, mteb, compare)  # as --help lists them


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status.

    0 is done, 1 could not be done (one line on stderr says why), 2 a wrong command line, 130 interrupted.
    """
    parser = argparse.ArgumentParser(prog="xsent", description="Train and evaluate multilingual sentence encoders.")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S"
    )
    run: Callable[[argparse.Namespace], None] = options.run
    try:
        run(options)
    except (ValueError, OSError, ImportError) as error:
        log.error("%s", _said(error))
        return 1
    except KeyboardInterrupt:
        log.error("interrupted; %s", options.interrupted)
        return 130
    return 0


def _said(error: Exception) -> str:
    """What an error says, in one line; of the system's own errors the file comes first."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())
