"""A real HTTP server that answers as endpoints do, and as they should not."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

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


class Endpoint:
    """Answers the first requests by a script, and each other one by ``otherwise``."""

    def __init__(self, url: str, stop: threading.Event) -> None:
        self.url = url
        self.stop = stop
        self.script: list[Answering] = []
        self.otherwise: Answering = good
        self.payloads: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.most_at_a_time = 0
        self._now = 0
        self._lock = threading.Lock()

    @property
    def sentences(self) -> list[str]:
        """Sentences, in the order in which they came."""
        return [sentence_of(payload) for payload in self.payloads]

    def behaviour(self, path: str, payload: dict[str, Any], headers: Mapping[str, str]) -> Behaviour:
        with self._lock:
            self.paths.append(path)
            self.payloads.append(payload)
            self.headers.append(headers)
            answering = self.script.pop(0) if self.script else self.otherwise
        return answering(payload)

    @contextmanager
    def counted(self) -> Iterator[None]:
        with self._lock:
            self._now += 1
            self.most_at_a_time = max(self.most_at_a_time, self._now)
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1


@contextmanager
def serving() -> Iterator[Endpoint]:
    """An endpoint on this machine, until the end of the block."""
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with endpoint.counted():
                self._answer(endpoint.behaviour(self.path, payload, {k.lower(): v for k, v in self.headers.items()}))

        def _answer(self, behaviour: Behaviour) -> None:
            if isinstance(behaviour, Reply):
                body = behaviour.body.encode() if isinstance(behaviour.body, str) else behaviour.body
                headers = {"Content-Type": behaviour.kind, "Content-Length": str(len(body)), **behaviour.headers}
                self._head(behaviour.status, headers)
                self.wfile.write(body)
            elif isinstance(behaviour, Stall):
                self._head(200, {"Content-Type": "application/json", "Content-Length": "10000"})
                self._stall(behaviour.seconds)
                self.close_connection = True
            else:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

        def _head(self, status: int, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def _stall(self, seconds: float | None) -> None:
            while not stop.wait(seconds if seconds is not None else 30):
                try:
                    self.wfile.write(b" ")
                    self.wfile.flush()
                except OSError:  # the client has gone
                    return

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}/v1", stop)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        stop.set()
        server.shutdown()
        server.server_close()
        thread.join()
