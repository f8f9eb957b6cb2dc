"""A folder that is used again: what goes and what stays."""

import json
from pathlib import Path

from xsent.reporting.run_outputs import remove_outputs

CHARTS = ("charts/margins.png", "charts/margins.csv", "tables/verdicts.csv")
OURS = ("metrics.csv", "results.csv", "report.html", "pictures/points.json", *CHARTS)
FOREIGN = ("notes.txt", "tables/mine.csv", "charts/mine.png", "checkpoints/best.ckpt")


def filled(folder: Path) -> Path:
    for name in (*OURS, *FOREIGN):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_what_an_earlier_run_wrote_is_removed_and_nothing_else(tmp_path: Path) -> None:
    folder = filled(tmp_path)
    (folder / "metrics.json").write_text(json.dumps({"metrics": {}, "files": [*CHARTS, "checkpoints/best.ckpt"]}))
    remove_outputs(folder, with_curves=True)
    assert files_in(folder) == set(FOREIGN)


def test_a_resumed_run_keeps_its_curves(tmp_path: Path) -> None:
    folder = filled(tmp_path)
    (folder / "environment.json").write_text("{}")  # of a run that was killed
    remove_outputs(folder, with_curves=False)
    assert "metrics.csv" in files_in(folder)
    assert "results.csv" not in files_in(folder)


def test_where_no_run_was_everything_stays(tmp_path: Path) -> None:
    remove_outputs(filled(tmp_path), with_curves=True)
    assert files_in(tmp_path) == {*OURS, *FOREIGN}


def test_a_damaged_metrics_json_is_removed_all_the_same(tmp_path: Path) -> None:
    for content in (b"{", b"\xff", b"[1]", b'{"files": [1]}', b'{"files": 1}'):
        (tmp_path / "metrics.json").write_bytes(content)
        remove_outputs(tmp_path, with_curves=True)
        assert files_in(tmp_path) == set()
