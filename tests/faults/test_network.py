"""No network unless it is asked for: every connection of this process but to this machine fails and is recorded."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import xsent
from tests.faults.killed_runs import RECIPES, Setup
from xsent.cli import main

ATTEMPTS = ("connect", "connect_ex", "sendto")
SENTENCES = ["The house is red and old.", "The dog sleeps in the garden.", "We read 3 new books in Berlin today."]


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Addresses of refused connections, and names that were looked up."""
    recorded: list[object] = []

    def refusing(original: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(sock: socket.socket, *arguments: Any) -> Any:
            if sock.family in (socket.AF_INET, socket.AF_INET6) and arguments[-1][0] not in ("127.0.0.1", "::1"):
                recorded.append(arguments[-1])
                raise OSError(101, "Network is unreachable")
            return original(sock, *arguments)

        return attempt

    def look_up(host: object, *arguments: Any, **options: Any) -> Any:
        if host in (None, "127.0.0.1", "localhost", "::1"):
            return known(host, *arguments, **options)
        recorded.append(host)
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    known = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for name in ("gethostbyname", "gethostbyname_ex"):
        monkeypatch.setattr(socket, name, look_up)
    for name in ATTEMPTS:
        monkeypatch.setattr(socket.socket, name, refusing(getattr(socket.socket, name)))
    return recorded


def test_the_recorder_records(attempts: list[object]) -> None:
    for connect in (
        lambda: socket.create_connection(("203.0.113.1", 80), 1),
        lambda: socket.create_connection(("example.invalid", 80), 1),
        lambda: socket.socket().connect(("203.0.113.1", 443)),
        lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("203.0.113.1", 53)),
    ):
        with pytest.raises(OSError, match=r"unreachable|resolution"):
            connect()
    assert attempts == ["203.0.113.1", "example.invalid", ("203.0.113.1", 443), ("203.0.113.1", 53)]


# ---- commands

COMMANDS = {
    "version": "--version",
    "help": "--help",
    "encoders": "encoders",
    **{f"help of {name}": f"{name} --help" for name in ("train", "evaluate", "encode", "mine", "filter", "noise")},
    **{f"help of {name}": f"{name} --help" for name in ("augment", "diverge", "distract", "export", "compare", "mteb")},
    "encode": "encode TEXT -o OUT.npy",
    "mine": "mine TEXT OTHER -o OUT.tsv",
    "filter": "filter PAIRS -o OUT.tsv",
    "noise": "noise TEXT -o OUT.txt",
    "augment": "augment TEXT -o OUT",
    "distract by rules": "distract eng=TEXT -o OUT.jsonl",
    "plan of distract by a model": "distract eng=TEXT -o OUT.jsonl --maker llm --model m --dry-run",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_tries_no_network(name: str, tmp_path: Path, attempts: list[object]) -> None:
    text, other, pairs = tmp_path / "text.en", tmp_path / "other.en", tmp_path / "pairs.tsv"
    for path in (text, other):
        path.write_text("".join(f"{sentence}\n" for sentence in SENTENCES * 5))
    pairs.write_text("".join(f"{sentence}\t{sentence}\n" for sentence in SENTENCES))
    line = COMMANDS[name].replace("OUT", str(tmp_path / "out")).replace("TEXT", str(text))
    words = line.replace("OTHER", str(other)).replace("PAIRS", str(pairs)).split()
    try:
        status = main(words)
    except SystemExit as end:  # of --help
        status = int(end.code or 0)
    assert (status, attempts) == (0, [])
    if " -o " in COMMANDS[name] and "dry-run" not in COMMANDS[name]:
        assert list(tmp_path.glob("out*"))


# ---- recipes


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_tries_no_network(recipe: str, data: Path, tmp_path: Path, attempts: list[object]) -> None:
    options = [*Setup(recipe).overrides(data), f"run_dir={tmp_path / 'run'}", "trainer.max_steps=1"]
    assert main(["train", *options]) == 0
    assert attempts == []
    assert (tmp_path / "run" / "metrics.json").is_file()


# ---- from Python

CALLS: dict[str, Callable[[], object]] = {
    "encoders": xsent.encoders,
    "load mini": lambda: xsent.load_encoder("mini"),
    "encode": lambda: xsent.load_encoder("mini").encode(SENTENCES),
    "mine": lambda: xsent.mine(SENTENCES, SENTENCES),
    "score": lambda: xsent.score(list(zip(SENTENCES, SENTENCES, strict=True))),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_tries_no_network(name: str, attempts: list[object]) -> None:
    CALLS[name]()
    assert attempts == []


# ---- models of the hub


@pytest.mark.parametrize("encoder", ["labse", "xlmr", "mbert"])
def test_an_offline_hub_is_not_asked(
    encoder: str, tmp_path: Path, attempts: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises((OSError, ValueError), match="HF_HUB_OFFLINE"):
        xsent.load_encoder(encoder)
    assert attempts == []
