"""Questions to an OpenAI-compatible endpoint, asked again where that may help, and never more than may be paid."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from xsent.text.distractors.llm.ledger import Answer, Ledger, Lost
from xsent.text.distractors.llm.prompt import Call
from xsent.text.distractors.llm.secret import Secrets, passwords_of, without_credentials
from xsent.text.distractors.llm.spending import NOTHING, Spending, Usage, counted
from xsent.text.distractors.llm.trouble import Trouble, of_connection, of_content, of_status, of_time
from xsent.text.distractors.values import check_number, check_whole

log = logging.getLogger(__name__)

# Of these the lower levels tell of every request, and of its headers.
LOGGERS = ("openai", "httpx", "httpx2", "httpcore", "httpcore2")
# What an endpoint may add to a prompt, in tokens: marks of who speaks, and some a short instruction of their own.
BESIDE = 128


class NoAnswerError(Exception):
    """A question has no answer, and the others may have."""


@dataclass(frozen=True)
class Patience:
    """How long is waited, and for what.

    Attributes:
        timeout: seconds for a request as a whole, from connecting to the last byte.
        tries: requests for an answer, at most.
        first_wait: seconds before the second of them; doubled before each other.
        longest_wait: seconds that are waited before one at most, whatever the endpoint asks for.
        give_up_after: questions in a row that all their tries have not answered, or that the endpoint does not take,
            after which nothing more is asked.
    """

    timeout: float
    tries: int
    first_wait: float
    longest_wait: float
    give_up_after: int

    def check(self) -> None:
        """Raise ``ValueError`` where a value makes no sense."""
        for name in ("tries", "give_up_after"):
            check_whole(f"maker.patience.{name}", getattr(self, name), least=1)
        for name in ("timeout", "first_wait", "longest_wait"):
            check_number(f"maker.patience.{name}", getattr(self, name), least=0)
        if not self.timeout:
            raise ValueError(f"maker.patience.timeout={self.timeout}: expected seconds above 0")

    def wait(self, key: str, number: int, asked: float | None) -> float:
        """Seconds before the next request, after so many; those of different questions differ, to spread them.

        Args:
            key: of the question.
            number: requests that were sent for it.
            asked: seconds that the endpoint asks for.
        """
        most = min(self.longest_wait, self.first_wait * 2.0 ** (number - 1))
        own = most * random.Random(f"{key} {number}").uniform(0.5, 1)
        return max(own, min(asked or 0.0, self.longest_wait))


class Client:
    """Answers of one endpoint, each in the ledger before anybody reads it.

    Until the endpoint has answered once, requests go alone: one that is wrong for all is sent once.

    Args:
        base_url: of the endpoint; may have user and password.
        key: of the endpoint; None where it wants none.
        key_env: where the key is from, for messages.
        ledger: open; gets each answer.
        spending: is asked before each request.
        concurrency: questions that are asked at a time.
        patience: when to ask again.
        sleep: waits for so many seconds.

    Raises:
        ImportError: the package ``openai`` is not installed.
    """

    def __init__(
        self, *, base_url: str, key: str | None, key_env: str | None, ledger: Ledger, spending: Spending,
        concurrency: int, patience: Patience, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:  # fmt: skip
        self.address = without_credentials(base_url)
        self.key_env = key_env
        self.ledger = ledger
        self.spending = spending
        self.patience = patience
        self.requests = 0  # sent
        self.lost: list[Usage] = []  # what those have used whose answers have not come, or the most they can have
        self._sleep = sleep
        self._secrets = Secrets(*([key] if key else []), *passwords_of(base_url))
        self._client = _openai(base_url, key, patience.timeout)
        self._slots = asyncio.Semaphore(concurrency)
        self._alone = asyncio.Lock()
        self._has_answered = False
        self._in_vain = 0  # questions in a row
        self._stopped: ValueError | OSError | None = None

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.close()

    async def ask(self, call: Call) -> None:
        """Get the answer to a question into the ledger.

        Raises:
            NoAnswerError: there is none to this one; says why.
            ValueError, PermissionError, ConnectionError: there will be none to any other either, or none that may be
                paid; says why. Nothing is sent any more, but what is under way is awaited elsewhere.
        """
        async with self._slots:
            if not self._has_answered:
                async with self._alone:
                    if not self._has_answered:
                        return await self._ask(call)
            await self._ask(call)

    async def _ask(self, call: Call) -> None:
        why = ""
        for number in range(1, self.patience.tries + 1):
            trouble = await self._send(call)
            if trouble is None:
                self._has_answered = True
                self._in_vain = 0
                return
            if trouble.is_fatal:
                raise self._stop(trouble.error(f"{self.address}: {trouble.why}{self._continues()}"))
            if trouble.is_final:
                raise self._refused(call, trouble)
            if trouble.is_fatal_at_first and not self._has_answered:
                raise self._stop(ConnectionError(f"{self.address}: {trouble.why}; is maker.base_url right?"))
            why = trouble.why
            if number < self.patience.tries:
                wait = self.patience.wait(call.key, number, trouble.asked_wait)
                log.info("%s: %s; request %d follows in %.1f s", self.address, trouble.why, number + 1, wait)
                await self._sleep(wait)
        self._in_vain += 1
        why = f"no answer in {self.patience.tries} tries, the last: {why}"
        if not self._has_answered or self._in_vain >= self.patience.give_up_after:
            raise self._stop(ConnectionError(f"{self.address}: {why}{self._continues()}"))
        raise NoAnswerError(f"{why}; the same command asks again")

    def _refused(self, call: Call, trouble: Trouble) -> Exception:
        """What is to be raised for a question that the endpoint does not take, now and later."""
        if trouble.is_fatal_at_first:
            if not self.ledger.has_answers:
                where = f"it does not take such requests, or not the first one, of {call.size:,} bytes"
                return self._stop(ValueError(f"{self.address}: {trouble.why}: {where}"))
            self._in_vain += 1
            if self._in_vain >= self.patience.give_up_after:
                # The same command would stop at the same texts.
                many = f"{self._in_vain} texts in a row have no answer; a higher maker.patience.give_up_after goes on"
                return self._stop(ValueError(f"{self.address}: {trouble.why}: {many} past them"))
        return NoAnswerError(f"the endpoint refused it: {trouble.why}")

    async def _send(self, call: Call) -> Trouble | None:
        """Send one request, and write down what came; None where that is an answer."""
        most = upper_bound(call)
        self._go_on()
        try:
            await self.spending.reserve(most)
        except ValueError as error:
            raise self._stop(error) from None
        used = NOTHING
        try:
            self._go_on()  # it may have waited for long
            self.requests += 1
            found = await self._exchange(call, most)
            if isinstance(found, Answer):
                used = found.usage
                self._keep(call, found)
                return None
            if found.may_be_paid or found.used:
                used = found.used or most
                self._lose(call, Lost(found.why, found.body, used, found.used is not None))
            return found
        except asyncio.CancelledError:
            used = most
            self._lose(call, Lost("interrupted", "", most, is_counted=False))
            raise
        finally:
            await self.spending.settle(most, used)

    def _lose(self, call: Call, found: Lost) -> None:
        self.lost.append(found.usage)
        self._keep(call, found)

    def _keep(self, call: Call, found: Answer | Lost) -> None:
        try:
            self.ledger.add(call, self.address, found)
        except OSError as error:  # what cannot be kept would be paid again
            raise self._stop(error) from None

    async def _exchange(self, call: Call, most: Usage) -> Answer | Trouble:
        import openai

        masked = self._secrets.masked
        try:
            # All of it: an endpoint that sends a byte now and then would never run into the client's own limit.
            async with asyncio.timeout(self.patience.timeout):
                response = await self._client.chat.completions.with_raw_response.create(
                    model=call.model, messages=call.messages, extra_body=dict(call.parameters)
                )
        except (TimeoutError, openai.APITimeoutError):
            return of_time(self.patience.timeout)
        except openai.APIStatusError as error:
            return of_status(error, masked, key_env=self.key_env, model=call.model)
        except openai.APIConnectionError as error:
            return of_connection(error, masked)
        return _read(masked(response.text), response.headers.get("x-request-id") or "", most, masked)

    def _go_on(self) -> None:
        if self._stopped is not None:
            raise self._stopped

    def _stop(self, error: ValueError | OSError) -> ValueError | OSError:
        self._stopped = self._stopped or error
        return self._stopped

    def _continues(self) -> str:
        answers = len(self.ledger.answers)
        return f"; {self.ledger.path} keeps {answers:,} answers, the same command continues" if answers else ""


def upper_bound(call: Call) -> Usage:
    """The most tokens that a call can use; no tokenizer makes more of a prompt than it has bytes."""
    return Usage(call.size + BESIDE, most_tokens(call.parameters) or 0)


def most_tokens(parameters: Mapping[str, Any]) -> int | None:
    """Of an answer, by whichever of its names the endpoint knows the parameter."""
    found: int | None = parameters.get("max_tokens") or parameters.get("max_completion_tokens")
    return found


def _read(body: str, request_id: str, most: Usage, masked: Callable[[str], str]) -> Answer | Trouble:
    """What an endpoint sent with 200: an answer, if it is the JSON of one."""
    try:
        content = json.loads(body)
        choice = content["choices"][0]
        said = choice["message"].get("content") or ""
        if not isinstance(said, str):
            raise TypeError
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return of_content(body)
    usage = counted(content)

    def named(where: Any, name: str) -> str:
        return masked(str(where.get(name) or ""))

    return Answer(
        masked(said), named(choice, "finish_reason"), usage or most, usage is not None, named(content, "id"),
        named(content, "model"), named(content, "system_fingerprint"), masked(request_id),
    )  # fmt: skip


def _openai(base_url: str, key: str | None, timeout: float) -> Any:
    try:
        from openai import AsyncOpenAI
    except ImportError as error:
        raise ImportError("asking a language model needs openai: pip install 'xsent[llm]'") from error
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    # It asks once; when to ask again is decided here, where each request is counted.
    return AsyncOpenAI(base_url=base_url, api_key=key or "none", timeout=timeout, max_retries=0)
