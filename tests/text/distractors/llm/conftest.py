"""An endpoint, and makers that ask it with the values of ``conf/job/distract/maker/llm.yaml`` and short waits."""

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
SHORT = {"timeout": 5.0, "tries": 3, "give_up_after": 2}

pytest.importorskip("openai", reason="the extra llm is not installed")
pytest.importorskip("py3langid", reason="the extra llm is not installed")


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the openai client would have waited between tries."""
    seconds: list[float] = []

    async def sleep(delay: float) -> None:
        seconds.append(delay)

    monkeypatch.setattr("openai._base_client.anyio.sleep", sleep)
    return seconds


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def published() -> dict[str, Any]:
    """``conf/job/distract/maker/llm.yaml``."""
    config: dict[str, Any] = load_config("distract", ["maker=llm"])["maker"]
    return config


@pytest.fixture
def maker(published: Mapping[str, Any], endpoint: Endpoint, tmp_path: Path) -> Callable[..., LlmMaker]:
    """Makes makers; ``patience`` is added to the short waits."""

    def build_maker(*, patience: Mapping[str, float] = {}, **values: Any) -> LlmMaker:
        config = copy.deepcopy(dict(published))
        config |= {"model": "model-1", "base_url": endpoint.url, "ledger": str(tmp_path / "ledger.jsonl"), **values}
        config["patience"] |= {**SHORT, **patience}
        model: LlmMaker = build(config, "maker")
        return model

    return build_maker


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
