"""What ran: command, recipe, encoder, data, versions, machine, and the whole config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from xsent.reporting.report.markup import escape, facts, fitting, folded, left_out, shortened
from xsent.reporting.report.reading import RunFiles
from xsent.reporting.report.shell import Section

LONGEST_FACT = 2_000  # characters
LONGEST_HEADLINE = 300


def overview_section(run: RunFiles, *, room: int) -> Section:
    """Facts first, the config folded below them.

    Args:
        run: its config and environment.
        room: bytes that the config may take.
    """
    lines = [escape(line) for line in _yaml(run.config).splitlines(keepends=True)]
    kept = fitting(lines, room)
    config = folded("The whole config", f"<pre>{''.join(kept)}</pre>")
    config += left_out(len(kept), len(lines), "lines of the config", "config.yaml" if run.trains else "metrics.json")
    return Section("overview", "What ran", facts(_facts(run)) + config, None, None)


def _yaml(config: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True, width=120)


def headline(run: RunFiles) -> str:
    """The run in a line, as text: ``DisentanglingRecipe on mini, trained on cldr``."""
    encoder = _name(run.config.get("encoder"))
    if not run.trains:
        what = run.config["ckpt"] if run.config.get("ckpt") else encoder
        said = f"{what} evaluated on {', '.join(_evaluators(run.config)) or 'nothing'}"
    else:
        said = f"{recipe_name(run.config)} on {encoder}, trained on {_name(run.config.get('data'))}"
    return shortened(said, LONGEST_HEADLINE)


def recipe_name(config: Mapping[str, Any]) -> str:
    """The class of the recipe, without where it lies; where it has a host, with that."""
    recipe = config.get("recipe") or {}
    name = str(recipe.get("_target_", "?")).rpartition(".")[2]
    return f"{name} ({recipe['host']})" if "host" in recipe else name


def unfinished(run: RunFiles) -> str:
    """A warning as HTML where the run has not come to its end."""
    if run.finished:
        return ""
    return '<p class="warning">This run has not finished: there is no metrics.json, so no figures are shown.</p>'


def _facts(run: RunFiles) -> list[tuple[str, str]]:
    config, about = run.config, run.about
    packages = about.get("packages") or {}
    versions = {"xsent": about.get("xsent"), "python": about.get("python"), **packages}
    best = about.get("best")
    data = about.get("data") if run.trains or "test_sets" not in about else None  # of an evaluation, its test sets
    return [
        ("command", _code(run.command)),
        ("recipe", _said(recipe_name(config)) if run.trains else ""),
        ("checkpoint", _code(config.get("ckpt") if not run.trains else config.get("ckpt_path"))),
        ("encoder", "" if config.get("ckpt") else _said(_encoder(config.get("encoder") or {}))),
        ("data", _said(_name(config.get("data"))) if run.trains else ""),
        ("languages", _said(_languages(config.get("data") or {}))),
        ("evaluators", _said(", ".join(_evaluators(config)))),
        ("seed", _said(about.get("seed", config.get("seed")))),
        ("epochs, batches", ", ".join(f"{about[name]:,}" for name in ("epochs", "batches") if about.get(name))),
        ("best", _said(f"{about.get('monitor')} {best:.6g}") if best is not None else ""),
        ("took", escape(_duration(about["seconds"])) if about.get("seconds") is not None else ""),
        ("machine", _said(", ".join(_machine(about)))),
        ("commit", _code(about.get("git"))),
        ("versions", _said(", ".join(f"{name} {version}" for name, version in versions.items() if version))),
        ("sha256 of the data", _code(data)),
        ("sha256 of the encoder", _code(about.get("encoder"))),
        ("sha256 of the test sets", _code(about.get("test_sets"))),
    ]


def _said(value: object) -> str:
    return "" if value is None else escape(shortened(str(value), LONGEST_FACT))


def _code(value: object) -> str:
    return f"<code>{escape(shortened(str(value), LONGEST_FACT))}</code>" if value else ""


def _name(part: object) -> str:
    if not isinstance(part, Mapping):
        return "?"
    return str(part.get("name") or part.get("path") or str(part.get("_target_", "?")).rpartition(".")[2])


def _encoder(encoder: Mapping[str, Any]) -> str:
    pooling = encoder.get("pooling")
    path = encoder.get("path")
    said = [_name(encoder), f"pooling {pooling}" if pooling else "", f"from {path}" if path else ""]
    return ", ".join(part for part in said if part)


def _languages(data: Mapping[str, Any]) -> str:
    languages = data.get("languages")
    return ", ".join(map(str, languages)) if isinstance(languages, list) else ""


def _evaluators(config: Mapping[str, Any]) -> list[str]:
    evaluator = config.get("evaluator") or {}
    members = evaluator.get("members")
    return list(members) if isinstance(members, Mapping) else [_name(evaluator)] if evaluator else []


def _machine(about: Mapping[str, Any]) -> list[str]:
    threads = about.get("threads")
    found = [about.get("machine"), about.get("device"), f"threads: {threads}" if threads else None]
    return [str(one) for one in found if one]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
