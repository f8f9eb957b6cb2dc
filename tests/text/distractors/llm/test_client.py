from __future__ import annotations

import asyncio
import email.utils
import threading
import time
from pathlib import Path

import pytest

from tests.text.distractors.llm.conftest import KEY
from tests.text.distractors.llm.endpoint import Endpoint, error, good
from xsent.text.distractors.llm.client import Client, Patience
from xsent.text.distractors.llm.ledger import Ledger
from xsent.text.distractors.llm.prompt import Call
from xsent.text.distractors.llm.secret import Secrets, without_credentials
from xsent.text.distractors.llm.spending import NOTHING, Limits, Prices, Spending, Usage

PATIENCE = Patience(timeout=5.0, tries=6, first_wait=1.0, longest_wait=10.0, give_up_after=3)
CALL = Call("model-1", ({"role": "user", "content": "Sag etwas.\nEr kommt heute."},), {"max_tokens": 100}, 1)


def waits(endpoint: Endpoint, tmp_path: Path) -> list[float]:
    """Seconds that a client has waited before it had an answer."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    async def ask() -> None:
        with Ledger(tmp_path / "ledger.jsonl", "model-1") as ledger:
            spending = Spending(NOTHING, Prices(None, None), Limits(None, None))
            client = Client(
                base_url=endpoint.url, key=KEY, key_env="A_KEY", ledger=ledger, spending=spending,
                concurrency=1, patience=PATIENCE, sleep=sleep,
            )  # fmt: skip
            await client.ask(CALL)
            await client.close()

    asyncio.run(ask())
    return waited


def test_waits_double_up_to_the_longest_and_half_of_each_is_chance(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.script = [error(500)] * 5
    found = waits(endpoint, tmp_path)
    for seconds, most in zip(found, (1, 2, 4, 8, 10), strict=True):
        assert most / 2 <= seconds <= most
    (tmp_path / "ledger.jsonl").unlink()
    endpoint.script = [error(500)] * 5
    assert waits(endpoint, tmp_path) == found  # chance of the question's own, so that a run can be repeated
    others = {PATIENCE.wait(str(key), 1, None) for key in range(20)}
    assert len(others) == 20


def test_an_endpoint_is_given_the_time_it_asks_for(endpoint: Endpoint, tmp_path: Path) -> None:
    date = email.utils.formatdate(time.time() + 9, usegmt=True)
    past = email.utils.formatdate(0, usegmt=True)
    asked = ["7", date, "100000", past, "soon"]
    endpoint.script = [error(429, Retry_After=value) for value in asked]
    seven, of_date, longest, of_past, unread = waits(endpoint, tmp_path)
    assert seven == 7
    assert 4 < of_date <= 9
    assert longest == 10
    assert 4 <= of_past <= 8
    assert 5 <= unread <= 10


@pytest.mark.parametrize("value", ["-5", "nan", "inf", ""])
def test_a_time_that_makes_no_sense_is_not_heeded(endpoint: Endpoint, tmp_path: Path, value: str) -> None:
    endpoint.script = [error(429, Retry_After=value)]
    (seconds,) = waits(endpoint, tmp_path)
    assert 0.5 <= seconds <= 1


def test_a_limit_waits_for_what_is_under_way_before_it_stops() -> None:
    async def two_of_ten_tokens_within_fifteen() -> Usage:
        spending = Spending(NOTHING, Prices(None, None), Limits(None, 15))
        await spending.reserve(Usage(5, 5))
        second = asyncio.create_task(spending.reserve(Usage(5, 5)))
        await asyncio.sleep(0)
        assert not second.done()
        await spending.settle(Usage(5, 5), Usage(3, 2))  # less than was reserved, so that the second fits
        await second
        await spending.settle(Usage(5, 5), Usage(5, 5))
        with pytest.raises(ValueError, match="limit_tokens=15"):
            await spending.reserve(Usage(1, 0))
        return spending.used

    assert asyncio.run(two_of_ten_tokens_within_fifteen()) == Usage(8, 7)


def test_what_was_used_is_counted_even_where_the_wait_to_say_so_is_cut_short() -> None:
    async def cancelled_while_it_settles() -> Spending:
        spending = Spending(NOTHING, Prices(None, None), Limits(None, 15))
        await spending.reserve(Usage(5, 5))
        async with spending._changed:  # so that others wait
            settling = asyncio.create_task(spending.settle(Usage(5, 5), Usage(3, 2)))
            await asyncio.sleep(0)
            settling.cancel()
        await asyncio.gather(settling, return_exceptions=True)
        return spending

    spending = asyncio.run(cancelled_while_it_settles())
    assert (spending.used, spending.in_flight) == (Usage(3, 2), 0)


def test_a_secret_goes_in_whatever_form_it_is_repeated() -> None:
    secrets = Secrets('a/b+c d"efgh', "short")
    assert secrets.masked('key a/b+c d"efgh, a%2Fb%2Bc%20d%22efgh, a/b+c d\\"efgh, short') == "key ***, ***, ***, short"
    assert Secrets().masked("nothing is secret") == "nothing is secret"


def test_an_address_is_said_without_user_and_password() -> None:
    assert without_credentials("https://user:pass@host:8000/v1/") == "https://host:8000/v1"
    assert without_credentials("http://[::1]:8000/v1") == "http://[::1]:8000/v1"
    assert "pass" not in without_credentials("http://user:pass@[broken/v1?x=pass")


def test_the_first_answer_lets_the_others_go_side_by_side(endpoint: Endpoint, tmp_path: Path) -> None:
    order: list[str] = []
    together = threading.Barrier(3)

    def slow(payload: dict[str, object]) -> object:
        order.append("begun")
        if len(order) == 1:
            time.sleep(0.05)  # long enough for another to come, if it did not wait
        else:
            together.wait(60)  # the other three are all under way before one is done
        order.append("done")
        return good(payload)

    endpoint.otherwise = slow  # type: ignore[assignment]

    async def ask() -> None:
        with Ledger(tmp_path / "ledger.jsonl", "model-1") as ledger:
            spending = Spending(NOTHING, Prices(None, None), Limits(None, None))
            client = Client(
                base_url=endpoint.url, key=KEY, key_env="A_KEY", ledger=ledger, spending=spending,
                concurrency=3, patience=PATIENCE,
            )  # fmt: skip
            await asyncio.gather(*(client.ask(CALL._replace(attempt=number)) for number in range(4)))
            await client.close()

    asyncio.run(ask())
    assert order[:2] == ["begun", "done"]
    assert order[2:5] == ["begun"] * 3
