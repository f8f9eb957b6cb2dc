"""Exit status of a command, and its error as one line."""

import logging
import os
import traceback
from collections.abc import Callable
from pathlib import Path

import xsent
from xsent.config_checks import UsageError
from xsent.reporting.secrets import redact

log = logging.getLogger("xsent")

TRACEBACK = "XSENT_TRACEBACK"  # environment variable: 1 shows where an error was raised
EXPECTED = (ValueError, OSError, ImportError, FloatingPointError)  # their messages are written for users
USAGE = (UsageError, FileNotFoundError, NotADirectoryError, ImportError)


def run_reporting(run: Callable[[], object], *, interrupted: str) -> int:
    """Run a command and return its exit status; an error is logged as one line.

    Args:
        run: the command.
        interrupted: message after Ctrl-C.

    Returns:
        0: done; 1: the data or the run failed; 2: wrong command line; 130: interrupted.
    """
    try:
        run()
    except KeyboardInterrupt:
        log.error("interrupted; %s", interrupted)
        return 130
    except SystemExit as end:
        if isinstance(end.__context__, KeyboardInterrupt):  # Lightning's answer to Ctrl-C
            log.error("interrupted; %s", interrupted)
            return 130
        if isinstance(end.code, str):
            log.error("%s", end.code)
            return 1
        return end.code or 0
    except Exception as error:
        log.error("%s", format_error(error), exc_info=os.environ.get(TRACEBACK) == "1")
        return 2 if isinstance(error, USAGE) else 1
    return 0


def format_error(error: Exception) -> str:
    """One line; the type, too, if the message was not written for users."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return f"{error.filename}: {error.strerror}"
    message = redact(" ".join(str(error).split()))
    if isinstance(error, EXPECTED) or (type(error) is RuntimeError and _is_raised_by_xsent(error)):
        return message or type(error).__name__
    return f"{type(error).__name__}: {message}; {TRACEBACK}=1 shows where"


def _is_raised_by_xsent(error: Exception) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).is_relative_to(Path(xsent.__file__).parent)
