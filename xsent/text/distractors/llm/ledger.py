"""The answers of a language model as they came, kept so that none is paid twice."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from xsent.append_only import AppendOnly
from xsent.text.distractors.llm.prompt import Call
from xsent.text.distractors.llm.spending import NOTHING, Usage, added


class Answer(NamedTuple):
    """What a model said, and by which names its endpoint knows that."""

    said: str  # raw
    finish_reason: str  # "stop", or why it stopped early
    usage: Usage
    is_counted: bool  # by the endpoint; otherwise the usage is the most it can have been
    id: str  # of the answer
    served_model: str  # what the endpoint says has answered
    fingerprint: str
    request_id: str  # of the HTTP request


class Lost(NamedTuple):
    """A request whose answer cannot be read and may be on the bill."""

    why: str
    body: str  # what came, or the start of it
    usage: Usage
    is_counted: bool  # as of an answer


class Ledger:
    """A file of answers, a JSON object a line, that only grows; no key of an endpoint is ever in it.

    A line of an answer has its ``key``, the ``request`` that the key is the digest of, the ``base_url`` without
    credentials, the ``answer`` as it came, ``finish_reason``, ``usage`` and who counted it, what the endpoint calls it
    all, and the ``time``. A line of a lost request has ``lost`` and ``body`` instead of an answer.

    Args:
        path: of the file.
        model: whose use of tokens is counted.
    """

    def __init__(self, path: Path, model: str) -> None:
        self.model = model
        self.answers: dict[str, Answer] = {}  # by key
        self.has_answers = False  # of the model
        self.usage = NOTHING  # of the model, what was lost included
        self._file = AppendOnly(path, wait=False)

    @property
    def path(self) -> Path:
        """Of the file."""
        return self._file.path

    def __enter__(self) -> Self:
        """Take the file and read it.

        Raises:
            BlockingIOError: another process has it.
            ValueError: a line is not of this form; names file and line.
        """
        self._file.__enter__()
        try:
            self.read()
        except BaseException:
            self._file.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the file."""
        self._file.__exit__(kind, error, trace)

    def read(self) -> None:
        """Know what is in the file, without taking it.

        Raises:
            ValueError: a line is not of this form; names file and line.
        """
        for number, line in enumerate(self._file.read(), start=1):
            try:
                self._know(line["key"], _from_json(line), line["request"]["model"])
            except (KeyError, TypeError):
                raise ValueError(f"{self.path}:{number}: expected an answer of a language model") from None

    def check(self) -> None:
        """Raise ``OSError`` if nothing can be added; nothing is made or changed."""
        self._file.check()

    def add(self, call: Call, base_url: str, found: Answer | Lost) -> None:
        """Write down what came of a call; on disk when this returns."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        self._file.add([
            {"key": call.key, "request": call._asdict(), "base_url": base_url, "time": when, **_to_json(found)}
        ])  # fmt: skip
        self._know(call.key, found, call.model)

    def _know(self, key: str, found: Answer | Lost, model: str) -> None:
        if isinstance(found, Answer):
            self.answers[key] = found
        if model == self.model:
            self.has_answers = self.has_answers or isinstance(found, Answer)
            self.usage = added(self.usage, found.usage)


def _to_json(found: Answer | Lost) -> dict[str, Any]:
    usage = {
        "usage": {"prompt_tokens": found.usage.prompt, "completion_tokens": found.usage.completion},
        "usage_from": "endpoint" if found.is_counted else "bound",
    }
    if isinstance(found, Lost):
        return {"lost": found.why, "body": found.body, **usage}
    return {
        "answer": found.said, "finish_reason": found.finish_reason, **usage,
        "id": found.id, "served_model": found.served_model, "fingerprint": found.fingerprint,
        "request_id": found.request_id,
    }  # fmt: skip


def _from_json(line: dict[str, Any]) -> Answer | Lost:
    usage = Usage(line["usage"]["prompt_tokens"], line["usage"]["completion_tokens"])
    is_counted = line["usage_from"] == "endpoint"
    if "lost" in line:
        return Lost(line["lost"], line["body"], usage, is_counted)
    return Answer(
        line["answer"], line["finish_reason"], usage, is_counted,
        line["id"], line["served_model"], line["fingerprint"], line["request_id"],
    )  # fmt: skip
