"""SIGTERM, as Slurm, Kubernetes and ``docker stop`` send it: status 143, after a checkpoint of a running training."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

STATUS = 128 + signal.SIGTERM


class Terminated(SystemExit):
    """SIGTERM arrived: ends the program with status 143."""

    def __init__(self) -> None:
        super().__init__(STATUS)


@dataclass
class _State:
    """The handler's state: signals belong to the process, so there is one."""

    process: int = 0  # that installed the handler; forked children inherit it
    received: bool = False
    is_deferred: bool = False
    forward: Callable[[int], object] | None = None  # to the processes of a distributed run


_state = _State()


@contextmanager
def raise_terminated() -> Iterator[None]:
    """Within the block, SIGTERM raises ``Terminated`` in the main thread; afterwards the earlier handlers are back.

    Further signals do not disturb what handles the first.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    global _state
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGCHLD)}
    is_nested = before[signal.SIGTERM] is _handle
    if not is_nested:
        _state = _State(os.getpid())
        signal.signal(signal.SIGTERM, _handle)
    try:
        yield
    finally:
        _state.is_deferred, _state.forward = False, None
        if not is_nested:
            _state = _State()
            for number, handler in before.items():
                if handler is not None:  # None: not installed by Python
                    signal.signal(number, handler)


def _handle(number: int, frame: FrameType | None) -> None:
    if os.getpid() != _state.process:  # a forked child, such as a worker of a pool
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return
    if _state.received and (_state.is_deferred or _is_ending()):
        return
    _state.received = True
    # The workers of a DataLoader get the signal, too. PyTorch's handler would raise for each that ends.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if _state.forward is not None:
        _state.forward(number)
    if not _state.is_deferred:
        raise Terminated


def _is_ending() -> bool:
    """Whether ``Terminated`` is being handled; it may have been lost, such as in a bare ``except`` of a library."""
    error = sys.exception()
    while error is not None and not isinstance(error, Terminated):
        error = error.__context__
    return error is not None


def received() -> bool:
    """Whether SIGTERM has arrived."""
    return _state.received


def defer(launcher: Any = None) -> None:
    """From now on the caller asks ``received`` and raises ``Terminated`` itself.

    Args:
        launcher: Lightning's, whose processes get the signal, too; None: there are none.
    """
    if os.getpid() == _state.process and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _handle)  # Lightning's own ends with status 0
        _state.forward = getattr(launcher, "kill", None)
        _state.is_deferred = True


def raise_again() -> None:
    """End ``defer``; raises ``Terminated`` if the signal has arrived since."""
    _state.is_deferred = False
    if _state.received:
        raise Terminated
