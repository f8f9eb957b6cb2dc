import asyncio
import signal
import threading
import time

import pytest

from xsent.text.distractors.llm.event_loop import Loop


def test_nothing_goes_on_in_the_thread_when_ctrl_c_ends_the_wait_for_its_end() -> None:
    going_on = threading.Event()

    async def slow_to_end() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.5)
            going_on.set()

    def interrupted() -> None:
        with Loop() as loop:
            loop.start(slow_to_end())
            loop.run(asyncio.sleep(0))  # it has begun
            signal.setitimer(signal.ITIMER_REAL, 0.1)

    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        signal.signal(signal.SIGALRM, handler)
    assert not [thread for thread in threading.enumerate() if thread.name == "xsent-event-loop"]
    assert not going_on.wait(0.6)


def test_ctrl_c_ends_a_wait_whichever_thread_the_system_tells_of_it() -> None:
    def interrupt() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    with Loop() as loop:
        timer = threading.Timer(0.1, interrupt)
        timer.start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            loop.run(asyncio.sleep(30))
        assert time.monotonic() - start < 10
        timer.join()
