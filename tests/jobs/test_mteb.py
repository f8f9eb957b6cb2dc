"""``xsent mteb``: figures calculated by hand, comparison with ours on real data, results folder."""

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from xsent.cli import main
from xsent.data.readers.sts import ScoredPairs
from xsent.data.readers.tatoeba import TestBitext
from xsent.evaluation.retrieval.evaluator import RetrievalEvaluator
from xsent.evaluation.similarity.sts import StsEvaluator
from xsent.jobs.mteb import LocalTask, check_names, score_tasks

pytest.importorskip("mteb", reason="mteb is not installed: pip install 'xsent[mteb]'")


@pytest.fixture(autouse=True)
def without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import datasets.config
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets")


class Angles:
    """Texts are angles in degrees, so that figures can be calculated by hand; letters after a number are ignored."""

    def __init__(self, name: str = "angles") -> None:
        self.name = name
        self.encoded: list[str] = []

    def encode(self, sentences: Sequence[str], *, show_progress: bool = False) -> Tensor:
        self.encoded += sentences
        angles = torch.tensor([math.radians(float(text.strip("abcdefgh "))) for text in sentences])
        return torch.stack([angles.cos(), angles.sin()], dim=1)

    def digest(self) -> str:
        return self.name.encode().hex()


def similarity(*gold: float, name: str = "similar", options: object = None) -> LocalTask:
    pairs = ScoredPairs("eng-eng", ["0"] * 3, ["10", "40", "80"], list(gold))
    evaluator = StsEvaluator(name="sts", root="", pairs=None, read=lambda root, requested: [pairs], missing="error")
    return LocalTask(name, "similarity", "Three pairs", evaluator, options)


def bitext(source: Sequence[str], target: Sequence[str], *, margin: str = "absolute") -> LocalTask:
    lines = TestBitext("deu-eng", "deu", "eng", list(source), list(target))
    evaluator = RetrievalEvaluator(
        name="bitext",
        root="",
        languages=None,
        read=lambda root, requested: [lines],
        missing="error",
        metric="accuracy",
        margin=margin,
        k=1,
        candidates="knn",
        comparison="textual",
    )
    return LocalTask("lines", "bitext", "Lines", evaluator, {"margin": margin})


def scored(
    output: Path, *tasks: str | LocalTask, embedder: Angles | None = None, root: Path | None = None
) -> list[dict[str, object]]:
    data = {"root": None if root is None else str(root), "download": False}
    return score_tasks(embedder or Angles(), output, name="angles", space=None, tasks=tasks, **data)


def figures(rows: Sequence[Mapping[str, object]]) -> dict[tuple[object, object, object], tuple[object, object, object]]:
    return {(row["subset"], row["figure"], row["ours_is"]): (row["mteb"], row["ours"], row["why"]) for row in rows}


# ---- figures


def test_similarity_equals_a_calculation_by_hand(tmp_path: Path) -> None:
    # Ranks 3 2 1 against 3 1 2: 1 - 6 * 2 / (3 * 8) = 0.5.
    (row,) = scored(tmp_path / "out", similarity(5.0, 1.0, 2.0))
    assert (row["mteb"], row["ours"], row["why"]) == (50.0, 50.0, "same")


def test_a_repeated_sentence_is_one_answer_for_us_and_two_for_mteb(tmp_path: Path) -> None:
    lines = ["0", "20", "40", "40"]
    scores = figures(scored(tmp_path / "out", bitext([f"{line}a" for line in lines], lines)))
    theirs, ours, reason = scores["deu-eng", "accuracy", "accuracy"]
    # Both of the last two find the same line, so that one of four is wrong by number and none by text.
    assert (theirs, ours) == (75.0, 100.0)
    assert "ties" in str(reason)
    # Classes 0 and 1 have F1 1; of the last two one has precision 1/2 and recall 1, so 2/3, the other 0.
    theirs, _, reason = scores["deu-eng", "f1", "accuracy"]
    assert theirs == pytest.approx(100 * (1 + 1 + 2 / 3) / 4, abs=1e-4)
    assert "as a class" in str(reason)


def test_both_directions_are_subsets(tmp_path: Path) -> None:
    scores = figures(scored(tmp_path / "out", bitext(["0a", "10a", "16a"], ["0b", "14b", "24b"])))
    # 10 is nearest to 14, but 16 is too: two of three. 0, 14 and 24 find 0, 16, 16: two of three.
    assert scores["deu-eng", "accuracy", "accuracy"] == (pytest.approx(66.6667), pytest.approx(66.6667), "same")
    assert scores["eng-deu", "accuracy", "accuracy"] == (pytest.approx(66.6667), pytest.approx(66.6667), "same")


def test_an_unexplained_difference_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetrievalEvaluator, "_errors", lambda *_: [True, False])  # ours goes wrong
    with pytest.raises(ValueError, match=r"one definition differ.*lines deu-eng accuracy: mteb 100\.0, ours 50\.0"):
        scored(tmp_path / "out", bitext(["0a", "20a"], ["0b", "20b"]))
    assert (tmp_path / "out" / "angles-616e676c6573" / "comparison.csv").is_file()
    # Another task's command has nothing to do with it; the same command says it again.
    assert len(scored(tmp_path / "out", similarity(5.0, 1.0, 2.0))) > 1
    with pytest.raises(ValueError, match="one definition differ"):
        scored(tmp_path / "out", bitext(["0a", "20a"], ["0b", "20b"]))


# ---- results folder


def test_mtebs_own_loader_reads_the_results(tmp_path: Path) -> None:
    import mteb
    from mteb.results import TaskResult

    scored(tmp_path / "out", similarity(5.0, 1.0, 2.0))
    folder = tmp_path / "out" / "results" / "xsent__angles" / Angles().digest()
    result = TaskResult.from_disk(folder / "xsent_similar.json")
    assert result.get_score() == pytest.approx(0.5)
    assert result.languages == ["eng"]
    about = json.loads((folder / "model_meta.json").read_text())
    names = about["name"], about["revision"], about["similarity_fn_name"]
    assert names == ("xsent/angles", Angles().digest(), "cosine")
    assert ("xsent__angles", Angles().digest()) in mteb.ResultCache(tmp_path / "out").get_models()


def test_a_finished_task_is_not_computed_again(tmp_path: Path) -> None:
    first, again = Angles(), Angles()
    rows = scored(tmp_path / "out", similarity(5.0, 1.0, 2.0), embedder=first)
    all_rows = scored(tmp_path / "out", similarity(5.0, 1.0, 2.0), bitext(["0a", "20a"], ["0b", "20b"]), embedder=again)
    assert first.encoded
    assert set(again.encoded) == {"0a", "20a", "0b", "20b"}
    assert [row for row in all_rows if row["task"] == "similar"] == rows
    assert len(all_rows) > len(rows)


def test_other_data_or_options_are_computed_again(tmp_path: Path) -> None:
    scored(tmp_path / "data", similarity(5.0, 1.0, 2.0))
    (row,) = scored(tmp_path / "data", similarity(5.0, 2.0, 1.0))
    assert row["mteb"] == 100.0
    # By cosine 0 and 10 both find 12; by distance margin 10 is more of a neighbour to its own.
    source, target = ["0a", "10a", "60a"], ["12b", "20b", "80b"]
    before = scored(tmp_path / "out", bitext(source, target))
    after = scored(tmp_path / "out", bitext(source, target, margin="ratio"))
    assert [row["why"] for row in before] != [row["why"] for row in after]
    assert "margin score" in str(after[0]["why"])


def test_scores_of_another_version_are_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xsent.jobs.mteb.__version__", "0.0.1")
    scored(tmp_path / "out", similarity(5.0, 1.0, 2.0, name="old"))
    monkeypatch.undo()
    rows = scored(tmp_path / "out", similarity(5.0, 1.0, 2.0))
    assert {row["task"] for row in rows} == {"similar"}
    (page,) = (tmp_path / "out").glob("*/comparison.md")
    assert "old is left out: another xsent scored it" in page.read_text()


def test_the_options_of_a_task_do_not_contain_the_path_of_its_files(tmp_path: Path) -> None:
    from xsent.cli.commands import local_task
    from xsent.run import load_config

    options = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        (folder / "stsb").mkdir(parents=True)
        rows = ["main\tfile\t2012\t0\t5.0\ta dog\tone dog", "main\tfile\t2012\t1\t1.0\ta cat\tone dog"]
        (folder / "stsb" / "sts-test.csv").write_text("\n".join(rows) + "\n")
        options.append(local_task("stsb", load_config("mteb", []) | {"local": str(folder)}).options)
    assert options[0] == options[1]
    assert str(tmp_path) not in json.dumps(options)
    assert "DATA" in json.dumps(options)


def test_another_model_has_files_of_its_own(tmp_path: Path) -> None:
    scored(tmp_path / "out", similarity(5.0, 1.0, 2.0))
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    scored(tmp_path / "out", similarity(5.0, 1.0, 2.0), embedder=Angles("other"))
    assert {path: path.read_bytes() for path in before} == before
    assert len(list((tmp_path / "out").glob("*/comparison.md"))) == 2


def test_a_folder_of_other_files_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"expected a new folder or one of xsent mteb, found notes\.txt"):
        scored(tmp_path, similarity(5.0, 1.0, 2.0))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


# ---- tasks of mteb from local files


def test_a_task_in_many_languages_runs_from_local_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "data" / "Tatoeba"
    (folder / "data").mkdir(parents=True)
    rows = [{"sentence1": f"{at}a", "sentence2": f"{at}b", "lang": "deu-eng"} for at in (0, 20, 40)]
    rows += [{"sentence1": f"{at}a", "sentence2": f"{at + 30}b", "lang": "fra-eng"} for at in (0, 25)]
    (folder / "data" / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scores = {row["subset"]: row["mteb"] for row in scored(tmp_path / "out", "Tatoeba", root=tmp_path / "data")}
    # 25 is nearest to 30, and so is 0: of two French lines the first is right; F1 of its class is 2/3, of the other 0.
    assert scores == {"deu-eng": 100.0, "fra-eng": pytest.approx(100 / 3, abs=1e-3)}
    assert "no rows of" in caplog.text
    (page,) = (tmp_path / "out").glob("*/comparison.md")
    assert "Tatoeba: there were no data of " in page.read_text()
    (result,) = (tmp_path / "out").glob("results/*/*/Tatoeba.json")
    first = json.loads(result.read_text())["dataset_revision"]
    assert re.fullmatch("local-[0-9a-f]{12}", first)
    # What hf download notes of its own is none of the data; rows are.
    (folder / ".cache").mkdir()
    (folder / ".cache" / "fetched").write_text("today")
    again = Angles()
    scored(tmp_path / "out", "Tatoeba", root=tmp_path / "data", embedder=again)
    assert not again.encoded
    with (folder / "data" / "test.jsonl").open("a") as file:
        file.write(json.dumps(rows[0]) + "\n")
    scored(tmp_path / "out", "Tatoeba", root=tmp_path / "data")
    assert json.loads(result.read_text())["dataset_revision"] != first


def test_incomplete_data_of_the_hub_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mteb

    address = mteb.get_task("Tatoeba").metadata.dataset
    folder = tmp_path / "hub" / f"datasets--{address['path'].replace('/', '--')}" / "snapshots" / address["revision"]
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "test.jsonl").write_text('{"sentence1": "0", "sentence2": "0", "lang": "deu-eng"}\n' * 2)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(ValueError, match=r"the cache has no rows of .*--download fetches the rest"):
        scored(tmp_path / "out", "Tatoeba")
    assert not (tmp_path / "out").exists()


def test_a_retrieval_task_runs_from_local_files(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "SciFact"
    files = {
        "corpus": [{"_id": "d1", "title": "", "text": "10b"}, {"_id": "d2", "title": "", "text": "50b"}],
        "queries": [{"_id": "q1", "text": "0a"}, {"_id": "q2", "text": "45a"}],
        "qrels/test": [{"query-id": query, "corpus-id": "d1", "score": 1} for query in ("q1", "q2")],
    }
    for name, rows in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - {split: test, path: qrels/test.jsonl}\n"
        "- config_name: corpus\n  data_files:\n  - {split: corpus, path: corpus.jsonl}\n"
        "- config_name: queries\n  data_files:\n  - {split: queries, path: queries.jsonl}\n---\n"
    )
    (row,) = scored(tmp_path / "out", "SciFact", root=tmp_path / "data")
    # nDCG@10: the right document is first of one query, 1, and second of the other, 1 / log2(3).
    assert row["figure"] == "ndcg_at_10"
    assert row["mteb"] == pytest.approx(100 * (1 + 1 / math.log2(3)) / 2, abs=1e-2)


def test_missing_and_malformed_data_are_errors_before_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    encoder = Angles()
    with pytest.raises(FileNotFoundError, match=r"STS17: the local cache .*--download fetches them.*--local ROOT"):
        scored(tmp_path / "out", "STS17", root=tmp_path, embedder=encoder)
    (tmp_path / "STS17").mkdir()
    (tmp_path / "STS17" / "test.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(ValueError, match="STS17: cannot be read as the data of STS17"):
        scored(tmp_path / "out", "STS17", root=tmp_path, embedder=encoder)
    assert not encoder.encoded
    assert not (tmp_path / "out").exists()


# ---- names


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("STSBenchmrk", "nearest are .*STSBenchmark"),
        ("tatoba", "nearest are .*tatoeba"),
        ("tatoebaa", "nearest are .*Tatoeba"),
        ("stsbenchmark", "nearest are .*STSBenchmark"),
        ("qqqqqqqqqq", "local tasks are tatoeba, stsb"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_or_the_local_tasks(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match=f"--tasks {name}: neither a local task nor one of mteb .* {hint}"):
        check_names(["STS17", name], ["tatoeba", "stsb"])


# ---- the command


def run(*arguments: str) -> int:
    return main(["mteb", *arguments])


def test_the_command_lists_the_local_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--list") == 0
    printed = capsys.readouterr().out
    assert "tatoeba" in printed
    assert "DIR/flores200/dev" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tasks", "stsb", "-o", "OUT"], "expected one encoder (a name"),
        (["RUN", "--encoder", "micro", "--tasks", "stsb", "-o", "OUT"], "expected one encoder (a name"),
        (["--encoder", "micro", "-o", "OUT"], "--tasks: expected at least one name"),
        (["--encoder", "micro", "--tasks", "stsb"], "-o: expected a folder"),
        (["--encoder", "minni", "--tasks", "stsb", "-o", "OUT"], "no encoder 'minni': expected "),
        (["--encoder", "micro", "--tasks", "stsb", "-o", "OUT"], "give --local DIR"),
        (["--encoder", "micro", "--tasks", "stsb", "--local", "NOWHERE", "-o", "OUT"], "no NOWHERE/stsb"),
        (["--encoder", "micro", "--tasks", "stbs", "--local", "NOWHERE", "-o", "OUT"], "nearest are stsb"),
        (
            ["--encoder", "micro", "--tasks", "STS17", "--space", "meaning", "-o", "OUT"],
            "only a run with heads has meaning",
        ),
        (["micro", "--tasks", "STS17", "--space", "meening", "-o", "OUT"], "space=meening: expected original"),
        (["NO_RUN", "--tasks", "STS17", "-o", "OUT"], "NO_RUN"),
    ],
)
def test_an_invalid_command_is_an_error_and_writes_nothing(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 1
    assert message in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_is_named_after_its_run(tmp_path: Path) -> None:
    from xsent.cli.command_config import checkpoint_name

    assert checkpoint_name(tmp_path / "demo") == "demo"
    assert checkpoint_name(tmp_path / "demo" / "checkpoints" / "last.ckpt") == "demo-last"
    assert checkpoint_name(tmp_path / "taken.ckpt") == "taken"


def test_on_real_files_figures_of_one_definition_are_equal(shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    tasks = ["stsb", "msrp", "rocsmt", "refresd"]
    if absent := [path for path in tasks if not (shared_data / path).exists()]:
        pytest.skip(f"no {', '.join(absent)} in {shared_data}")
    assert run("--encoder", "micro", "--tasks", *tasks, "--local", str(shared_data), "-o", str(out)) == 0
    (file,) = out.glob("micro-*/comparison.csv")
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["task"] for row in rows} == set(tasks)
    assert not [row for row in rows if row["why"] == "NOT EXPLAINED"]
    of_one = [row for row in rows if row["why"] == "same" or "one definition" in row["why"]]
    assert {row["figure"] for row in of_one} == {"accuracy", "cosine_accuracy", "cosine_ap", "cosine_spearman"}
