"""Client of an OpenAI-compatible endpoint: stores every answer in the ledger and stays within the spending limits.

The ``openai`` package retries failed requests, with its own waiting times. A hook of its HTTP client sees each attempt:
it reserves the most that the attempt may cost before it is sent, and stores the answer as soon as it arrives.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import InitVar, dataclass
from typing import Any

from xsent.config_checks import check_integer, check_number
from xsent.text.distractors.llm.api_key import Secrets, passwords_of, without_credentials
from xsent.text.distractors.llm.budget import NO_USAGE, Spending, Usage, read_usage
from xsent.text.distractors.llm.ledger import Answer, Call, Ledger, LostAnswer
from xsent.text.distractors.llm.request_errors import RequestError, connection_error, content_error, status_error

log = logging.getLogger(__name__)

# Their lower levels log requests with their headers.
LOGGERS = ("openai", "httpx", "httpx2", "httpcore", "httpcore2")
# Tokens that an endpoint may add to a prompt: role markers, and with some a short instruction.
PROMPT_OVERHEAD = 128


class NoAnswerError(Exception):
    """A question has no answer; others may have one."""


@dataclass(frozen=True)
class Patience:
    """Limits on waiting."""

    timeout: float  # seconds for one request, from connecting to the last byte
    tries: int  # requests for an answer, at most
    give_up_after: int  # questions in a row without an answer after which the run stops

    def __post_init__(self) -> None:
        check_integer("maker.patience.tries", self.tries, minimum=1)
        check_integer("maker.patience.give_up_after", self.give_up_after, minimum=1)
        check_number("maker.patience.timeout", self.timeout)
        if not self.timeout:
            raise ValueError(f"maker.patience.timeout={self.timeout}: expected seconds above 0")


@dataclass
class _Question:
    """A call while it is asked."""

    call: Call
    tries: int = 0
    reason: str = ""  # why the last try failed


_QUESTION: ContextVar[_Question] = ContextVar("_QUESTION")  # of the current task


@dataclass(kw_only=True, eq=False)
class Client:
    """Asks one endpoint and writes each answer to the ledger.

    Until the endpoint has answered once, questions are asked one at a time, so that an error of all requests is met
    once.

    Raises:
        ImportError: the package ``openai`` is not installed.
    """

    base_url: InitVar[str]  # of the endpoint; may have user and password
    key: InitVar[str | None]  # of the endpoint; None if it needs none
    key_env: str | None  # environment variable of the key, for messages
    ledger: Ledger  # open
    spending: Spending
    concurrency: int  # questions at a time
    patience: Patience

    def __post_init__(self, base_url: str, key: str | None) -> None:
        self.requests = 0  # sent
        self.lost: list[Usage] = []  # of requests whose answers did not arrive: as reported, or at most
        self._address = without_credentials(base_url)
        self._mask = Secrets(*([key] if key else []), *passwords_of(base_url)).mask
        self._client = _build_openai(base_url, key, self.patience, self._send)
        self._slots = asyncio.Semaphore(self.concurrency)
        self._first = asyncio.Lock()
        self._has_answered = False
        self._failures = 0  # questions in a row
        self._stopped: ValueError | OSError | None = None

    async def close(self) -> None:
        await self._client.close()

    async def ask(self, call: Call) -> None:
        """Get the answer to a question into the ledger.

        Raises:
            NoAnswerError: this question has none.
            ValueError, PermissionError, ConnectionError: no other question would have one, or none that the limits
                allow. Nothing more is sent; requests under way are not cancelled.
        """
        async with self._slots:
            if not self._has_answered:
                async with self._first:
                    if not self._has_answered:
                        return await self._ask(call)
            await self._ask(call)

    async def _ask(self, call: Call) -> None:
        import openai

        question = _Question(call)
        _QUESTION.set(question)
        try:
            await self._client.chat.completions.with_raw_response.create(
                model=call.model, messages=call.messages, extra_body=dict(call.parameters)
            )
        except openai.APIError:  # after the last try
            self._failures += 1
            reason = f"no answer in {question.tries} tries, the last: {question.reason}"
            if not self._has_answered or self._failures >= self.patience.give_up_after:
                hint = self._hint() or "; is maker.base_url right?"
                raise self._stop(ConnectionError(f"{self._address}: {reason}{hint}")) from None
            raise NoAnswerError(f"{reason}; the same command asks again") from None

    async def _send(self, request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:
        """Send one try; returns the endpoint's answer, or a response that has ``openai`` try again."""
        import httpx2

        question = _QUESTION.get()
        call, bound = question.call, upper_bound(question.call)
        question.tries += 1
        self._check_stopped()
        try:
            await self.spending.reserve(bound)
        except ValueError as error:
            raise self._stop(error) from None
        usage, response = NO_USAGE, None
        try:
            self._check_stopped()  # it may have waited for long
            self.requests += 1
            try:
                # The whole response: an endpoint that sends a byte now and then never meets the client's own timeout.
                async with asyncio.timeout(self.patience.timeout):
                    response = await send(request)
                if 200 <= response.status_code < 300:
                    result = _read_answer(response, bound, self._mask)
                else:
                    result = status_error(response, self._mask, key_env=self.key_env, model=call.model)
            except (TimeoutError, httpx2.TimeoutException):
                reason = f"no whole answer within {self.patience.timeout:g} s"
                result = RequestError(reason, may_be_billed=True)
            except httpx2.RequestError as error:
                result = connection_error(error, self._mask)
            if isinstance(result, Answer):
                usage = result.usage
                self._store(call, result)
                self._has_answered, self._failures = True, 0
                return response
            if result.may_be_billed or result.usage:
                usage = result.usage or bound
                self._store(call, LostAnswer(result.reason, result.body, usage, result.usage is not None))
        except asyncio.CancelledError:
            usage = bound
            self._store(call, LostAnswer("interrupted", "", bound, is_counted=False))
            raise
        finally:
            await self.spending.settle(bound, usage)
        if result.is_fatal:
            raise self._stop(result.kind(f"{self._address}: {result.reason}{self._hint()}"))
        if result.is_final:
            raise self._refusal(call, result)
        if result.is_fatal_at_first and not self._has_answered:
            raise self._stop(ConnectionError(f"{self._address}: {result.reason}; is maker.base_url right?"))
        question.reason = result.reason
        headers = {"x-should-retry": "true"}
        wait = "" if response is None else response.headers.get("retry-after", "")
        if wait.isascii():  # another one is no number of seconds and no date, and no header either
            headers["retry-after"] = wait
        return httpx2.Response(503, headers=headers, request=request)

    def _refusal(self, call: Call, error: RequestError) -> Exception:
        """Exception for a question that the endpoint refuses, now and later."""
        if error.is_fatal_at_first:
            if not self.ledger.has_answers:
                cause = f"it does not take such requests, or not the first one, of {call.size:,} bytes"
                return self._stop(ValueError(f"{self._address}: {error.reason}: {cause}"))
            self._failures += 1
            if self._failures >= self.patience.give_up_after:
                # The same command would stop at the same texts.
                cause = f"{self._failures} texts in a row have no answer; a higher maker.patience.give_up_after goes on"
                return self._stop(ValueError(f"{self._address}: {error.reason}: {cause} past them"))
        return NoAnswerError(f"the endpoint refused it: {error.reason}")

    def _store(self, call: Call, result: Answer | LostAnswer) -> None:
        if isinstance(result, LostAnswer):
            self.lost.append(result.usage)
        try:
            self.ledger.store(call, self._address, result)
        except OSError as error:  # an answer that is not stored would be paid again
            raise self._stop(error) from None

    def _check_stopped(self) -> None:
        if self._stopped is not None:
            raise self._stopped

    def _stop(self, error: ValueError | OSError) -> ValueError | OSError:
        self._stopped = self._stopped or error
        return self._stopped

    def _hint(self) -> str:
        answers = len(self.ledger.answers)
        return f"; {self.ledger.path} keeps {answers:,} answers, the same command continues" if answers else ""


def upper_bound(call: Call) -> Usage:
    """The most tokens that a call can use; a prompt has at most as many tokens as bytes."""
    return Usage(call.size + PROMPT_OVERHEAD, max_completion_tokens(call.parameters) or 0)


def max_completion_tokens(parameters: Mapping[str, Any]) -> int | None:
    """Limit on the tokens of an answer, by either name of the parameter."""
    return parameters.get("max_tokens") or parameters.get("max_completion_tokens")


def _read_answer(response: Any, bound: Usage, mask: Callable[[str], str]) -> Answer | RequestError:
    body = mask(response.text)
    try:
        content = json.loads(body)
        choice = content["choices"][0]
        text = choice["message"].get("content") or ""
        if not isinstance(text, str):
            raise TypeError
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return content_error(body)
    usage = read_usage(content)

    def field(mapping: Any, name: str) -> str:
        return mask(str(mapping.get(name) or ""))

    return Answer(
        text=mask(text),  # again, as JSON may escape a key
        finish_reason=field(choice, "finish_reason"),
        usage=usage or bound,
        is_counted=usage is not None,
        id=field(content, "id"),
        served_model=field(content, "model"),
        fingerprint=field(content, "system_fingerprint"),
        request_id=mask(response.headers.get("x-request-id") or ""),
    )


def _build_openai(base_url: str, key: str | None, patience: Patience, hook: Callable[..., Awaitable[Any]]) -> Any:
    try:
        import openai
    except ImportError as error:
        raise ImportError("asking a language model needs openai: pip install 'xsent[llm]'") from error
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)

    class HttpClient(openai.DefaultAsyncHttpxClient):
        async def send(self, request: Any, **options: Any) -> Any:
            options["stream"] = False
            return await hook(request, lambda sent: super(HttpClient, self).send(sent, **options))

    return openai.AsyncOpenAI(
        base_url=base_url,
        api_key=key or "none",
        timeout=patience.timeout,
        max_retries=patience.tries - 1,
        http_client=HttpClient(follow_redirects=False),  # the texts and the key go to no other address
    )
