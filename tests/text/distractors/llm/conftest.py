"""An endpoint, and makers that ask it with the values of ``conf/maker/llm.yaml`` and short waits."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.text.distractors.llm.endpoint import Endpoint, serving
from xsent.run import build, load_config
from xsent.text.distractors.llm.maker import LlmMaker

KEY = "sk-proj-Very/Secret+Key_0123456789"
SHORT = {"timeout": 5.0, "tries": 3, "first_wait": 0.001, "longest_wait": 0.002, "give_up_after": 2}

pytest.importorskip("openai", reason="the extra llm is not installed")
pytest.importorskip("py3langid", reason="the extra llm is not installed")


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as found:
        yield found


@pytest.fixture(scope="session")
def published() -> dict[str, Any]:
    """``conf/maker/llm.yaml``."""
    found: dict[str, Any] = load_config("distract", ["maker=llm"])["maker"]
    return found


@pytest.fixture
def maker(published: Mapping[str, Any], endpoint: Endpoint, tmp_path: Path) -> Callable[..., LlmMaker]:
    """Makes makers; ``patience`` is added to the short waits."""

    def made(*, patience: Mapping[str, float] = {}, **values: Any) -> LlmMaker:
        config = copy.deepcopy(dict(published))
        config |= {"model": "model-1", "base_url": endpoint.url, "ledger": str(tmp_path / "ledger.jsonl"), **values}
        config["patience"] |= {**SHORT, **patience}
        found: LlmMaker = build(config)
        return found

    return made


@pytest.fixture(autouse=True)
def no_key_in_any_file_or_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    assert KEY not in caplog.text
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
