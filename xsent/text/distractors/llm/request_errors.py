"""Classification of failed requests: what stops the run, what fails one text, and what may be sent again."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from xsent.text.distractors.llm.budget import Usage, read_usage

Mask = Callable[[str], str]

RETRIED = (408, 409, 425, 429)  # and 5xx
# A gateway stopped waiting for an answer that the model may have finished.
TIMED_OUT = (408, 504, 524)
NO_MONEY = "insufficient_quota"  # comes with 429, and waiting does not help
# The request is malformed or too long: either all requests are, or this text is.
REFUSED = (400, 413, 422)
# Codes of 400 that concern the text alone.
TEXT_CODES = {"content_filter", "content_policy_violation", "context_length_exceeded"}
MESSAGE_LIMIT = 200  # characters of an endpoint's message that an error repeats
BODY_LIMIT = 2_000  # characters of a body that the ledger keeps


class RequestError(NamedTuple):
    """Why a request has no answer; what is neither fatal nor final may be sent again."""

    reason: str
    is_fatal: bool = False  # every other request would fail as well
    is_fatal_at_first: bool = False  # the same, unless the endpoint has answered before
    is_final: bool = False  # this text fails, others may succeed
    kind: type[ValueError | OSError] = ValueError  # of exception, where it is fatal
    may_be_billed: bool = False  # the model may have answered, but the answer did not arrive completely
    usage: Usage | None = None  # as the endpoint reports it
    body: str = ""


def connection_error(error: Exception, mask: Mask) -> RequestError:
    """There was no connection, or it broke."""
    message = _shorten(mask(str(error)) or type(error).__name__)
    if type(error).__name__ in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol"):
        return RequestError(f"cannot be reached ({message})", is_fatal_at_first=True)
    return RequestError(f"the connection broke ({message})", may_be_billed=True)


def status_error(response: Any, mask: Mask, *, key_env: str | None, model: str) -> RequestError:
    """The endpoint answered with a status that is not 2xx."""
    status, body = response.status_code, response.text
    content = _parse(body)
    details = content.get("error", content) if isinstance(content, dict) else content
    details = details if isinstance(details, dict) else {"message": details}
    # Masked before it is shortened; otherwise a part of a key could remain.
    message = _shorten(mask(str(details.get("message") or body))) or "no reason given"
    codes = {str(details.get(name)) for name in ("code", "type")}
    answered = f"answered {status} ({message})"
    if status == 429 and NO_MONEY in codes:
        return RequestError(f"answered 429, {NO_MONEY} ({message}): waiting does not help", is_fatal=True)
    if status in RETRIED or status >= 500:
        billed = status in TIMED_OUT
        return RequestError(answered, may_be_billed=billed, usage=read_usage(content), body=mask(body)[:BODY_LIMIT])
    if status in REFUSED:
        return RequestError(answered, is_final=True, is_fatal_at_first=not codes & TEXT_CODES)
    if status in (401, 403):
        key = "no key, as maker.key_env=null" if key_env is None else f"the key in {key_env}"
        reason = f"{answered}: it refuses {key}, or that key may not use {model}"
        return RequestError(reason, is_fatal=True, kind=PermissionError)
    if 300 <= status < 400:
        location = _shorten(mask(response.headers.get("location") or "nowhere"))
        reason = f"{answered}: it redirects to {location}; set maker.base_url to that address if you trust it"
        return RequestError(reason, is_fatal=True)
    if status == 404:
        expected = f"expected a model it has and a base_url that /chat/completions may follow, found model {model}"
        return RequestError(f"{answered}: {expected}", is_fatal=True)
    return RequestError(f"{answered}: it does not take such requests", is_fatal=True)


def content_error(body: str) -> RequestError:
    """The endpoint answered with 200, but not with a chat completion."""
    content = _parse(body)
    # The start of a JSON object is a truncated answer; pages and whole objects cost nothing unless they report usage.
    is_truncated = body.lstrip().startswith("{") and content is None
    reason = f"expected the JSON of a chat completion, found {_shorten(body)!r}"
    usage, body = read_usage(content), body[:BODY_LIMIT]
    return RequestError(reason, may_be_billed=is_truncated, usage=usage, body=body)


def _parse(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MESSAGE_LIMIT else line[:MESSAGE_LIMIT] + "..."
