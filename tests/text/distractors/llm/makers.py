"""Makers with the values of ``conf/job/distract/maker/llm.yaml`` and short waits, and the lines of their ledgers."""

import copy
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from xsent.run import build, load_config
from xsent.text.distractors.llm.maker import LlmMaker

SHORT = {"timeout": 5.0, "tries": 3, "give_up_after": 2}


@cache
def published() -> Mapping[str, Any]:
    """The values of the file."""
    config: dict[str, Any] = load_config("distract", ["maker=llm"])["maker"]
    return config


def new_maker(*, patience: Mapping[str, float] = {}, **values: Any) -> LlmMaker:
    """A maker with other values; ``patience`` is added to the short waits."""
    config = copy.deepcopy(dict(published())) | {"model": "model-1", **values}
    config["patience"] |= {**SHORT, **patience}
    maker: LlmMaker = build(config, "maker")
    return maker


def lines_of(ledger: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger.read_text("utf-8").split("\n") if line]
