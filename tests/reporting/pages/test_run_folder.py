"""A run folder read back: what is there, and what is said when something is wrong."""

import csv
import json
import math
import shlex
from pathlib import Path

import pytest
import yaml

from tests.reporting.pages.helpers import FIGURES, run_folder
from xsent.reporting.pages import write_report
from xsent.reporting.pages.run_folder import read_run


def test_figures_and_curves_are_those_of_the_files(tmp_path: Path) -> None:
    folder = run_folder(
        tmp_path / "run",
        metrics={**FIGURES, "test/tatoeba/original/fra/accuracy": None},
        logged="9,0,train/loss,2.5\n9,0,val/loss,nan\n19,1,train/loss,1.5\n",
        sentences=["a", "b"],
    )
    run = read_run(folder)
    assert run.finished
    assert not run.trains
    assert math.isnan(run.metrics.pop("test/tatoeba/original/fra/accuracy"))
    assert run.metrics == FIGURES
    assert run.logged["train/loss"] == [(9, 0, 2.5), (19, 1, 1.5)]
    assert run.points is not None
    assert run.points.spaces == ["meaning", "language"]


def test_a_killed_run_has_its_config_and_curves_but_not_the_row_that_the_kill_tore(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", logged="9,0,train/loss,2.5\n19,0,trai")
    (folder / "metrics.json").unlink()
    (folder / "config.yaml").write_text("recipe: {_target_: a.Recipe, host: dream}\n")
    run = read_run(folder)
    assert not run.finished
    assert run.trains
    assert (run.metrics, list(run.logged)) == ({}, ["train/loss"])


def test_the_command_is_what_was_typed_but_for_secrets(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run")
    (folder / "command.yaml").write_text("overrides: [encoder=mini, logger.api_key=12345, 'a=[x, y]']\nchoices: {}\n")
    assert read_run(folder).command == "python evaluate.py encoder=mini 'logger.api_key=***' 'a=[x, y]'"


@pytest.mark.parametrize(
    ("typed", "masked"),
    [
        ("logger={_target_: W, api_key: TOPSECRET, n: 3}", "logger={_target_: W, api_key: ***, n: 3}"),
        ("a.list=[{token: TOPSECRET}, x]", "a.list=[{token: ***}, x]"),
        ("+token=TOPSECRET", "+token=***"),
        ("logger={_target_:W,api_key:TOPSECRET}", "logger=***"),  # Hydra's own form, which is no YAML mapping
        ("logger=choice({api_key: TOPSECRET}, b)", "logger=***"),
        ("logger={api_key: ${oc.env:TOPSECRET}, x", "logger=***"),
        ("data.root=${oc.env:HOME}/data", "data.root=${oc.env:HOME}/data"),
        ("weights={a: 1.0e-3, b: [2]}", "weights={a: 1.0e-3, b: [2]}"),
        ("~logger", "~logger"),
    ],
)
def test_secrets_within_mappings_and_lists_of_the_command_are_masked(typed: str, masked: str, tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run")
    (folder / "command.yaml").write_text(yaml.safe_dump({"overrides": [typed], "choices": {}}))
    assert read_run(folder).command == shlex.join(["python", "evaluate.py", masked])
    assert "TOPSECRET" not in write_report(folder).read_text().replace(masked, "")


def test_a_cell_may_be_longer_than_the_csv_module_expects(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run")
    (folder / "details.csv").write_text("a,b\n" + "x" * 200_000 + ",1\n")
    (folder / "tables").mkdir()
    (folder / "tables" / "t.csv").write_text("a\n" + "x" * 200_000 + "\n")
    assert "x" * 299 + "…" in write_report(folder).read_text()
    assert csv.field_size_limit() == 131_072  # of others as it was


PANEL = {"points": [[0.0, 0.0]], "note": ""}
HEADER = b"step,epoch,name,value\n"


def drawn(panel: object, *sentences: str) -> bytes:
    texts = list(sentences or ["a"])
    methods = {"PCA": {"meaning": panel}}
    return json.dumps({"sentences": texts, "languages": ["deu"] * len(texts), "methods": methods}).encode()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("details.csv", b"a\n\xff\n", r"details\.csv: expected CSV in UTF-8"),
        ("metrics.csv", HEADER + b"\xff\n", r"metrics\.csv: expected CSV in UTF-8"),
        ("metrics.csv", HEADER + b"9,0,a,2\n9,0,a\n9,0,a,1\n", r"csv:3: expected step,epoch,name,value, found 9,0,a$"),
        ("metrics.csv", b"epoch,value\n", r"csv:1: expected the header step,epoch,name,value, found epoch,value"),
        ("pictures/points.json", drawn({"points": [[0.0, 0.0]]}), r"points\.json: .* a note and finite points"),
        ("pictures/points.json", drawn({**PANEL, "points": [[math.nan, 0]]}), r"points\.json: .* found NaN"),
        ("pictures/points.json", drawn({**PANEL, "points": [[0.0]]}), r"points\.json: .* finite points"),
        ("pictures/points.json", drawn(PANEL, "a", "b"), r"json: .*sentences \(2\), found 2 languages and 1 points"),
        ("pictures/points.json", drawn([]), r"points\.json: .* finite points"),
        (
            "outcomes.json",
            b'{"after": {"test/a/b/f1": "01x"}}',
            r"outcomes\.json: .* 0 or 1 .* test/a/b/f1 in",
        ),
        (
            "outcomes.json",
            b'{"after": {"columns": ["01"], "metrics": {"test/a/b/f1": {"statistic": "mean", "groups": [[[1]]]}}}}',
            r"outcomes\.json: expected a statistic, .* of test/a/b/f1 in `after`",
        ),
        ("outcomes.json", b'{"after": [1]}', r"outcomes\.json: expected outcomes by metric in `after`, found \[1\]"),
        ("command.yaml", b"a: [", r"command\.yaml: expected YAML"),
        ("command.yaml", b"overrides: b\nchoices: {}", r"command\.yaml: expected a list of overrides, found 'b'"),
        ("metrics.json", b'{"metrics": {"test/a/b/f1": "high"}}', r"metrics\.json: .*test/a/b/f1 in .*, found 'high'"),
        ("metrics.json", b'{"metrics": {"f1": 1}}', r"metrics\.json: expected test/.* in `metrics`, found 'f1'"),
        ("metrics.json", b'{"metrics": [}', r"metrics\.json:1: expected JSON, found "),
        ("metrics.json", b'{"metrics": [1]}', r"metrics\.json: expected figures by name in `metrics`, found \[1\]"),
        ("metrics.json", b'{"metrics": {}, "config": [1]}', r"metrics\.json: expected the config as a mapping"),
        ("metrics.json", b'{"metrics": {}, "config": {"data": 1}}', r"metrics\.json: expected data of the config"),
        ("metrics.json", b'{"metrics": {}, "seconds": "1"}', r"metrics\.json: expected a number as seconds"),
    ],
)
def test_a_damaged_file_is_named(file: str, content: bytes, message: str, tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run")
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_run(folder)


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothere: expected the folder of a run, found nothing"):
        read_run(tmp_path / "nothere")
    with pytest.raises(ValueError, match=r"found neither metrics\.json .* nor config\.yaml"):
        read_run(tmp_path)
