"""What can come of a request instead of an answer, and what to do about it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from xsent.text.distractors.llm.spending import Usage, counted

if TYPE_CHECKING:
    import openai

Masked = Callable[[str], str]

# Of a request that may do when it is sent again; 5xx besides.
AGAIN = (408, 409, 425, 429)
# Somebody has waited no longer for an answer that may have been made all the same.
TIMED_OUT = (408, 504, 524)
NO_MONEY = "insufficient_quota"  # is said with 429, and waiting does not help
# A request is not as it should be, or too long: that is about all of them or about this text.
REFUSED = (400, 413, 422)
# Codes of 400 that are about this text alone.
ABOUT_THE_TEXT = ("content_filter", "content_policy_violation", "context_length_exceeded")
LONGEST_SAID = 200  # characters of what an endpoint says that a message repeats
LONGEST_KEPT = 2_000  # and that the ledger keeps


class Trouble(NamedTuple):
    """Why a request has no answer; what is neither fatal nor final may be sent again."""

    why: str
    is_fatal: bool = False  # no other request will do either
    is_fatal_at_first: bool = False  # the same, where none has been answered yet
    is_final: bool = False  # this one will not do, others may
    error: type[ValueError | OSError] = ValueError  # what it is where it is fatal
    asked_wait: float | None = None  # seconds
    may_be_paid: bool = False  # an answer may have been made, and it did not come, or not whole
    used: Usage | None = None  # tokens, where the endpoint says so
    body: str = ""


def of_time(seconds: float) -> Trouble:
    """Nothing, or not all, has come in time."""
    return Trouble(f"no whole answer within {seconds:g} s", may_be_paid=True)


def of_connection(error: openai.APIConnectionError, masked: Masked) -> Trouble:
    """There was no connection, or it broke."""
    cause = error.__cause__ or error
    said = _short(masked(str(cause)) or type(cause).__name__)
    if type(cause).__name__ in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol"):
        return Trouble(f"cannot be reached ({said})", is_fatal_at_first=True)
    return Trouble(f"the connection broke ({said})", may_be_paid=True)


def of_status(error: openai.APIStatusError, masked: Masked, *, key_env: str | None, model: str) -> Trouble:
    """The endpoint answered with a status that is no 2xx."""
    status = error.status_code
    said = _said(error, masked)
    codes = {str(code) for code in (error.code, error.type) if code}
    if status == 429 and NO_MONEY in codes:
        return Trouble(f"answered 429, {NO_MONEY} ({said}): waiting does not help", is_fatal=True)
    if status in AGAIN or status >= 500:
        text = error.response.text
        return Trouble(
            f"answered {status} ({said})", asked_wait=_asked_wait(error.response.headers),
            may_be_paid=status in TIMED_OUT, used=counted(_parsed(text)), body=masked(text)[:LONGEST_KEPT],
        )  # fmt: skip
    if status in REFUSED:
        is_about_the_text = bool(codes & set(ABOUT_THE_TEXT))
        return Trouble(f"answered {status} ({said})", is_final=True, is_fatal_at_first=not is_about_the_text)
    if status in (401, 403):
        where = "no key, as maker.key_env=null" if key_env is None else f"the key in {key_env}"
        return Trouble(
            f"answered {status} ({said}): it refuses {where}, or that key may not use {model}",
            is_fatal=True, error=PermissionError,
        )  # fmt: skip
    if status == 404:
        expected = f"expected a model it has and a base_url that /chat/completions may follow, found model {model}"
        return Trouble(f"answered {status} ({said}): {expected}", is_fatal=True)
    return Trouble(f"answered {status} ({said}): it does not take such requests", is_fatal=True)


def of_content(body: str) -> Trouble:
    """The endpoint answered with 200, and not with an answer."""
    return Trouble(
        f"expected the JSON of a chat completion, found {_short(body)!r}",
        is_fatal_at_first=True, may_be_paid=_is_cut_off(body), used=counted(_parsed(body)), body=body[:LONGEST_KEPT],
    )  # fmt: skip


def _is_cut_off(body: str) -> bool:
    """Whether a text is the start of a JSON object; pages and whole objects cost nothing unless they say so."""
    return body.lstrip().startswith("{") and _parsed(body) is None


def _parsed(body: str) -> Any:
    """The content of JSON; None where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _said(error: openai.APIStatusError, masked: Masked) -> str:
    """What an endpoint says is wrong, without keys: it may repeat the one that it was given."""
    body: Any = error.body
    message = body.get("message") if isinstance(body, dict) else body
    # Masked before it is cut, as a part of a key could stay otherwise.
    return _short(masked(str(message or error.response.text))) or "no reason given"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SAID else line[:LONGEST_SAID] + "..."


def _asked_wait(headers: Any) -> float | None:
    """Seconds of Retry-After, a number or a date; None where there is neither."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
