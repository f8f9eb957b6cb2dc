"""Ledger: append-only file of all answers of language models, so that none is paid for twice."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from xsent.files.jsonl_log import AppendOnly
from xsent.text.distractors.llm.budget import NO_USAGE, Usage, add_usage


class Call(NamedTuple):
    """One question to a model: all that decides its answer, and the number of the attempt."""

    model: str
    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any]  # sent unchanged
    attempt: int  # from 1

    @property
    def key(self) -> str:
        """Hex digest (SHA-256) of all fields: key of the answer in the ledger."""
        return hashlib.sha256(json.dumps(self._asdict(), sort_keys=True).encode()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of the messages in UTF-8."""
        return sum(
            len(value.encode("utf-8", "surrogatepass")) for message in self.messages for value in message.values()
        )


class Answer(NamedTuple):
    """Answer of a model, with the endpoint's identifiers."""

    text: str  # as it came
    finish_reason: str  # "stop", or why the answer ended early
    usage: Usage
    is_counted: bool  # the endpoint reported the usage; otherwise it is the upper bound
    id: str  # of the answer
    served_model: str  # as the endpoint reports it
    fingerprint: str
    request_id: str  # of the HTTP request


class LostAnswer(NamedTuple):
    """A request without a readable answer that may be billed."""

    reason: str
    body: str  # of the response, or its start
    usage: Usage
    is_counted: bool  # as in ``Answer``


_IDENTIFIERS = ("finish_reason", "id", "served_model", "fingerprint", "request_id")  # fields of an answer and its line


class Ledger(AppendOnly):
    """Append-only file with one JSON object per answer; it never holds a key of an endpoint.

    The line of an answer has its ``key``, the ``request`` that the key is the digest of, the ``base_url`` without
    credentials, the ``answer``, its ``finish_reason`` and ``usage``, the endpoint's identifiers, and the ``time``. The
    line of a lost request has ``lost`` and ``body`` instead of an answer.

    Args:
        path: of the file.
        model: whose usage is counted.
    """

    def __init__(self, path: Path, model: str) -> None:
        super().__init__(path, wait=False)
        self.model = model
        self.answers: dict[str, Answer] = {}  # by key
        self.has_answers = False  # of the model
        self.usage = NO_USAGE  # of the model, lost answers included

    def __enter__(self) -> Self:
        """Lock the file and load it.

        Raises:
            BlockingIOError: another process holds the lock.
            ValueError: as in ``load``.
        """
        super().__enter__()
        try:
            self.load()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def load(self) -> None:
        """Load the file without locking it.

        Raises:
            ValueError: a line has another form; names file and line.
        """
        for number, line in enumerate(self.read(), start=1):
            try:
                self._register(line["key"], _from_json(line), line["request"]["model"])
            except (KeyError, TypeError):
                raise ValueError(f"{self.path}:{number}: expected an answer of a language model") from None

    def store(self, call: Call, base_url: str, result: Answer | LostAnswer) -> None:
        """Append the result of a call; it is on disk when this returns."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        self.add([{"key": call.key, "request": call._asdict(), "base_url": base_url, "time": time, **_to_json(result)}])
        self._register(call.key, result, call.model)

    def _register(self, key: str, result: Answer | LostAnswer, model: str) -> None:
        if isinstance(result, Answer):
            self.answers[key] = result
        if model == self.model:
            self.has_answers = self.has_answers or isinstance(result, Answer)
            self.usage = add_usage(self.usage, result.usage)


def _to_json(result: Answer | LostAnswer) -> dict[str, Any]:
    usage = {
        "usage": {"prompt_tokens": result.usage.prompt, "completion_tokens": result.usage.completion},
        "usage_from": "endpoint" if result.is_counted else "bound",
    }
    if isinstance(result, LostAnswer):
        return {"lost": result.reason, "body": result.body, **usage}
    return {"answer": result.text, **usage, **{name: getattr(result, name) for name in _IDENTIFIERS}}


def _from_json(line: dict[str, Any]) -> Answer | LostAnswer:
    usage = Usage(line["usage"]["prompt_tokens"], line["usage"]["completion_tokens"])
    is_counted = line["usage_from"] == "endpoint"
    if "lost" in line:
        return LostAnswer(line["lost"], line["body"], usage, is_counted)
    identifiers = {name: line[name] for name in _IDENTIFIERS}
    return Answer(line["answer"], usage=usage, is_counted=is_counted, **identifiers)
