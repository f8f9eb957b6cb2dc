"""A real HTTP server that answers as endpoints do, and as they should not."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

KEY = "sk-proj-Very/Secret+Key_0123456789"
CHANGES = ("nicht", "heute", "gestern", "morgen", "wieder", "niemals")


class Reply(NamedTuple):
    """What the server sends."""

    body: str | bytes
    status: int = 200
    headers: Mapping[str, str] = {}
    kind: str = "application/json"


class Stall(NamedTuple):
    """Sends headers, and then a byte every so many seconds, or nothing, until the client has gone or the test ends."""

    seconds: float | None


class Reset(NamedTuple):
    """Closes the connection without a word."""


Behaviour = Reply | Stall | Reset
Answering = Callable[[dict[str, Any]], Behaviour]


def completion(text: str, *, usage: Mapping[str, int] | None, finish_reason: str = "stop", **fields: Any) -> Reply:
    """The JSON of a chat completion."""
    message = {"role": "assistant", "content": text}
    content = {
        "id": "chatcmpl-7",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "system_fingerprint": "fp_1",
        "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        **fields,
    }
    return Reply(json.dumps(content), headers={"x-request-id": "req-1"})


def sentence_of(payload: dict[str, Any]) -> str:
    """What is asked about: the last line of the prompt."""
    message: str = payload["messages"][-1]["content"]
    return message.rsplit("\n", 1)[-1]


def numbered(sentence: str, count: int = 4) -> str:
    """A list of distractors, each with another word before the last."""
    *words, last = sentence.split()
    return "\n".join(f"{n}. {' '.join([*words, CHANGES[n - 1], last])}" for n in range(1, count + 1))


def answer_with(text: str, **fields: Any) -> Answering:
    """Always the same answer."""
    return lambda payload: completion(text, usage={"prompt_tokens": 100, "completion_tokens": 50}, **fields)


def good(payload: dict[str, Any]) -> Reply:
    """An answer that will do: 100 tokens of a prompt, 50 of an answer."""
    return completion(numbered(sentence_of(payload)), usage={"prompt_tokens": 100, "completion_tokens": 50})


def error(status: int, message: str = "no", code: str | None = None, **headers: str) -> Answering:
    """An error as OpenAI words it; ``retry_after`` is the header of that name."""
    body = json.dumps({"error": {"message": message, "type": code, "code": code, "param": None}})
    return lambda payload: Reply(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


def html(payload: dict[str, Any]) -> Reply:
    """A page, with 200."""
    return Reply("<html><body>Welcome</body></html>", kind="text/html")


def partial(payload: dict[str, Any]) -> Reply:
    """The first half of an answer."""
    body = good(payload).body
    return Reply(body[: len(body) // 2])


class Endpoint(ThreadingHTTPServer):
    """Answers the first requests by a script, and each other one by ``otherwise``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.stop = threading.Event()
        self.script: list[Answering] = []
        self.otherwise: Answering = good
        self.payloads: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.waits: list[float] = []  # of the openai client between tries, in seconds
        self.most_at_a_time = 0
        self.now = 0
        self.lock = threading.Lock()

    @property
    def sentences(self) -> list[str]:
        """Sentences, in the order in which they came."""
        return [sentence_of(payload) for payload in self.payloads]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def do_POST(self) -> None:
        payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        endpoint = self.server
        with endpoint.lock:
            endpoint.now += 1
            endpoint.most_at_a_time = max(endpoint.most_at_a_time, endpoint.now)
            endpoint.paths.append(self.path)
            endpoint.payloads.append(payload)
            endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
            answering = endpoint.script.pop(0) if endpoint.script else endpoint.otherwise
        try:
            self._answer(answering(payload))
        finally:
            with endpoint.lock:
                endpoint.now -= 1

    def _answer(self, behaviour: Behaviour) -> None:
        if isinstance(behaviour, Reply):
            body = behaviour.body.encode() if isinstance(behaviour.body, str) else behaviour.body
            headers = {"Content-Type": behaviour.kind, "Content-Length": str(len(body)), **behaviour.headers}
            self._head(behaviour.status, headers)
            self.wfile.write(body)
            return
        self.close_connection = True
        if isinstance(behaviour, Reset):
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._head(200, {"Content-Type": "application/json", "Content-Length": "10000"})
        while not self.server.stop.wait(behaviour.seconds or 30):
            try:
                self.wfile.write(b" ")
                self.wfile.flush()
            except OSError:  # the client has gone
                return

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[Endpoint]:
    """An endpoint on this machine, until the end of the block."""
    endpoint = Endpoint()
    thread = threading.Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.stop.set()
        endpoint.shutdown()
        endpoint.server_close()
        thread.join()


@contextmanager
def serving_openai(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """``serving``, with the key set; the openai client does not wait between tries, and ``waits`` has the seconds."""

    async def sleep(delay: float) -> None:
        endpoint.waits.append(delay)

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("openai._base_client.anyio.sleep", sleep)
    with serving() as endpoint:
        yield endpoint
