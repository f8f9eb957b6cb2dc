"""An endpoint, and makers that ask it; the key is in no file and no log."""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.text.distractors.llm.endpoint import KEY, Endpoint, serving_openai
from tests.text.distractors.llm.makers import new_maker
from xsent.text.distractors.llm.maker import LlmMaker

pytest.importorskip("openai", reason="the extra llm is not installed")
pytest.importorskip("py3langid", reason="the extra llm is not installed")


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with serving_openai(monkeypatch) as server:
        yield server


@pytest.fixture
def maker(endpoint: Endpoint, tmp_path: Path) -> Callable[..., LlmMaker]:
    """``new_maker`` for this endpoint."""
    return partial(new_maker, base_url=endpoint.url, ledger=str(tmp_path / "ledger.jsonl"))


@pytest.fixture(autouse=True)
def no_key_in_any_file_or_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    assert KEY not in caplog.text
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
