"""Exit status of a command, and its error as one line."""

import logging
import os
import traceback
from collections.abc import Callable
from pathlib import Path

import xsent
from xsent import sigterm
from xsent.config_checks import UsageError
from xsent.reporting.secrets import redact

log = logging.getLogger("xsent")

TRACEBACK = "XSENT_TRACEBACK"  # environment variable: 1 shows where an error was raised
EXPECTED = (ValueError, OSError, ImportError, FloatingPointError)  # their messages are written for users
USAGE = (UsageError, FileNotFoundError, NotADirectoryError, ImportError)


def run_reporting(
    run: Callable[[], object], *, interrupted: Callable[[], str], usage: tuple[type[Exception], ...] = USAGE
) -> int:
    """Run a command and return its exit status; an error is logged as one line.

    Args:
        run: the command.
        interrupted: gives the message after Ctrl-C or SIGTERM.
        usage: errors with status 2.

    Returns:
        0: done; 1: the data or the run failed; 2: wrong command line; 130: interrupted; 143: terminated.
    """
    with sigterm.raise_terminated():
        try:
            run()
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            return _report(error, interrupted, usage)
    return 0


def _report(error: BaseException, interrupted: Callable[[], str], usage: tuple[type[Exception], ...]) -> int:
    if sigterm.received():  # the error may come from another process that the signal ended
        if int(os.environ.get("LOCAL_RANK", 0)) > 0:
            return 0  # after another status, Lightning kills the first process, which may still be ending
        log.error("terminated; %s", interrupted())
        return sigterm.STATUS
    if isinstance(error, SystemExit) and not isinstance(error.__context__, KeyboardInterrupt):
        if not isinstance(error.code, str):
            return error.code or 0
        log.error("%s", error.code)
        return 1
    if not isinstance(error, Exception):  # Ctrl-C, which Lightning answers with SystemExit
        log.error("interrupted; %s", interrupted())
        return 130
    log.error("%s", format_error(error), exc_info=os.environ.get(TRACEBACK) == "1")
    return 2 if isinstance(error, usage) else 1


def format_error(error: Exception) -> str:
    """One line; the type, too, if the message was not written for users.

    Control characters, which text from a file may have, are escaped: a terminal would execute them.
    """
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return str(redact(_escape(f"{error.filename}: {error.strerror}")))
    message = redact(_escape(" ".join(str(error).split())))
    if isinstance(error, EXPECTED) or (type(error) is RuntimeError and _is_raised_by_xsent(error)):
        return message or type(error).__name__
    return f"{type(error).__name__}: {message}; {TRACEBACK}=1 shows where"


def _escape(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _is_raised_by_xsent(error: Exception) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).is_relative_to(Path(xsent.__file__).parent)
