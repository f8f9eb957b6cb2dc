"""Run folders written by hand, so that what a page must show is known beforehand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HOSTILE = "</script><script>document.title = 'taken over'</script><img src=x onerror=\"document.title = 'seized'\">"
FIGURES = {"test/tatoeba/original/deu/accuracy": 61.25, "test/tatoeba/original/mean/accuracy": 1 / 3}


def run_folder(
    folder: Path,
    *,
    metrics: Mapping[str, float | None] | None = None,
    logged: str | None = None,
    config: Mapping[str, Any] | None = None,
    data: str = "d1",
    about: Mapping[str, Any] | None = None,
    expected: Mapping[str, float] | None = None,
    sentences: Sequence[str] = (),
) -> Path:
    """An evaluation of ``mini``, or what ``config`` says; sentences lie on a row from left to right."""
    folder.mkdir(parents=True)
    known = {
        "xsent": "0.1.0",
        "git": "abc",
        "python": "3.11.7",
        "packages": {"torch": "2.13.0"},
        "data": data,
        "seed": 1,
        **(about or {}),
    }
    evaluator = {"name": "tatoeba", "root": "/data/tatoeba", "margin": "absolute"}
    content = {
        "metrics": FIGURES if metrics is None else metrics,
        **known,
        "expected": expected or {},
        "config": {
            "seed": 1,
            "encoder": {"name": "mini"},
            "evaluator": evaluator,
            "run_dir": str(folder),
            **(config or {}),
        },
    }
    (folder / "metrics.json").write_text(json.dumps(content))
    if logged is not None:
        (folder / "metrics.csv").write_text("step,epoch,name,value\n" + logged)
    if sentences:
        (folder / "pictures").mkdir()
        points = [[float(number), 0.0] for number in range(len(sentences))]
        panel = {"points": points, "note": "on a row"}
        languages = ["deu" if number % 2 else "eng" for number in range(len(sentences))]
        methods = {"PCA": {"meaning": panel, "language": panel}}
        drawn = {"sentences": list(sentences), "languages": languages, "methods": methods}
        (folder / "pictures" / "points.json").write_text(json.dumps(drawn))
    return folder
