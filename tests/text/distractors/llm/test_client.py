import asyncio
import json
import threading
import time
from pathlib import Path

import pytest

from tests.text.distractors.llm.endpoint import KEY, Endpoint, Reply, error, good
from tests.text.distractors.llm.makers import lines_of
from xsent.text.distractors.llm.api_key import Secrets, without_credentials
from xsent.text.distractors.llm.budget import NO_USAGE, Prices, Spending, Usage
from xsent.text.distractors.llm.client import Client, Patience, upper_bound
from xsent.text.distractors.llm.ledger import Call, Ledger

PATIENCE = Patience(timeout=5.0, tries=4, give_up_after=3)
OPTIONS = {"key": KEY, "key_env": "A_KEY", "concurrency": 3, "patience": PATIENCE}
CALL = Call("model-1", ({"role": "user", "content": "Sag etwas.\nEr kommt heute."},), {"max_tokens": 100}, 1)


async def ask(endpoint: Endpoint, tmp_path: Path, *calls: Call, limit_tokens: int | None = None) -> Client:
    """Ask with a new client and ledger; returns the closed client."""
    with Ledger(tmp_path / "ledger.jsonl", "model-1") as ledger:
        spending = Spending(NO_USAGE, Prices(None, None), None, limit_tokens)
        client = Client(base_url=endpoint.url, ledger=ledger, spending=spending, **OPTIONS)
        try:
            await asyncio.gather(*(client.ask(call) for call in calls))
        finally:
            await client.close()
    return client


def test_waits_grow_and_an_endpoint_is_given_the_time_it_asks_for(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.script = [error(500), error(500), error(429, Retry_After="7")]
    asyncio.run(ask(endpoint, tmp_path, CALL))
    first, second, requested = endpoint.waits
    assert 0 < first <= 0.5 < second <= 1
    assert requested == 7


def test_each_try_counts_against_the_limit(endpoint: Endpoint, tmp_path: Path) -> None:
    # Each try may use the bound; the endpoint reports 30 tokens for the failed ones, so the third does not fit.
    bound = upper_bound(CALL).total
    body = json.dumps({"error": {"message": "busy"}, "usage": {"prompt_tokens": 20, "completion_tokens": 10}})
    endpoint.otherwise = lambda payload: Reply(body, 500)
    with pytest.raises(ValueError, match=r"stopped at maker\.limit_tokens"):
        asyncio.run(ask(endpoint, tmp_path, CALL, limit_tokens=bound + 30))
    assert len(endpoint.payloads) == 2
    assert [line["usage_from"] for line in lines_of(tmp_path / "ledger.jsonl")] == ["endpoint"] * 2


def test_a_limit_waits_for_what_is_under_way_before_it_stops() -> None:
    async def two_of_ten_tokens_within_fifteen() -> Usage:
        spending = Spending(NO_USAGE, Prices(None, None), None, 15)
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
        spending = Spending(NO_USAGE, Prices(None, None), None, 15)
        await spending.reserve(Usage(5, 5))
        async with spending._changed:  # so that others wait
            settling = asyncio.create_task(spending.settle(Usage(5, 5), Usage(3, 2)))
            await asyncio.sleep(0)
            settling.cancel()
        await asyncio.gather(settling, return_exceptions=True)
        return spending

    spending = asyncio.run(cancelled_while_it_settles())
    assert (spending.used, spending.in_flight) == (Usage(3, 2), 0)


def test_secrets_are_masked_in_any_form_and_an_address_is_said_without_user_and_password() -> None:
    secrets = Secrets('a/b+c d"efgh', "short")
    assert secrets.mask('key a/b+c d"efgh, a%2Fb%2Bc%20d%22efgh, a/b+c d\\"efgh, short') == "key ***, ***, ***, short"
    assert Secrets().mask("nothing is secret") == "nothing is secret"
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

    asyncio.run(ask(endpoint, tmp_path, *(CALL._replace(attempt=number) for number in range(4))))
    assert order[:2] == ["begun", "done"]
    assert order[2:5] == ["begun"] * 3
