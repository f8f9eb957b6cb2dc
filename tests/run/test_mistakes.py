"""What users get wrong: exit status, one line that names the remedy, and nothing left on disk."""

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers import ROOT, toy_bitext
from xsent.cli import main


class Mistake(NamedTuple):
    """A wrong command."""

    command: str
    message: str  # part of the error
    status: int = 2


TRAIN = [
    Mistake("", "expected recipe=NAME, found none; one of divergence, dream, labse, meat, oracle"),
    Mistake(
        "recipe=orcale",
        "recipe=orcale: expected one of divergence, dream, labse, meat, oracle, paraphrase, rolaser, transfer; ",
    ),
    Mistake("oracle", "oracle: expected NAME=VALUE"),
    Mistake("--recipe=oracle", "--recipe=oracle: no such option, values are set without dashes: recipe=VALUE"),
    Mistake("recipe=oracle encoder=labze", "did you mean labse?"),
    Mistake("experiment=clsd/table2", "it has no recipe and trains nothing; run it with evaluate.py"),
    Mistake("recipe=oracle encoder=models/mine", "evaluate.py takes it as ckpt=models/mine, train.py with"),
    Mistake("recipe=oracle enocder=mini", "enocder=mini: no such key; did you mean encoder?"),
    Mistake("recipe=oracle data=BITEXT", "data=BITEXT: expected a name, found a path; expected data=bitext data.root="),
    Mistake("recipe=oracle trainer.max_epoch=3", "trainer.max_epoch=3: no such key; did you mean trainer.max_epochs?"),
    Mistake(
        "recipe=oracle recipe.optimzer.lr=1", "recipe.optimzer.lr=1: no such key; did you mean recipe.optimizer.lr"
    ),
    Mistake("recipe=oracle +recipe.optimizer.lrr=1", "has no option lrr; did you mean lr?"),
    Mistake("recipe=oracle recipe/oracle/objectiv=meat", "did you mean recipe/oracle/objective?"),
    Mistake("recipe=oracle recipe/paraphrase/loss=ams", "belongs to recipe=paraphrase, but recipe=oracle was chosen"),
    Mistake("recipe=oracle objective=meat", "write recipe/oracle/objective=..."),
    Mistake("recipe=oracle recipe.optimizer.lr=abc", "recipe.optimizer.lr=abc: expected a number"),
    Mistake("recipe=oracle recipe.optimizer.lr=nan", "recipe.optimizer.lr=nan: expected a number"),
    Mistake("recipe=oracle trainer.max_epochs=ten", "trainer.max_epochs=ten: expected an integer"),
    Mistake("recipe=oracle seed=-1", "seed=-1: expected an integer of at least 0"),
    Mistake("recipe=oracle data.global_batch_size=-1", "data.global_batch_size=-1: expected an integer of at least 1"),
    Mistake("recipe=oracle data.languages=deu", "data.languages=deu: expected a list, such as [a,b]"),
    Mistake("recipe=oracle recipe.host=drem", "recipe.host=drem: expected one of dream, meat"),
    Mistake("recipe=oracle seed=1,2", "seed=1,2: several values make a grid; add -m"),
    Mistake("recipe=oracle encoder.name=[a", "cannot be read; quote it"),
    Mistake("recipe=oracle trainer=gpu", "torch finds no GPU on this machine; use trainer=cpu"),
    Mistake("recipe=oracle logger=wandb", "logger needs wandb: pip install 'xsent[wandb]'"),
    Mistake("recipe=labse recipe.lora.rank=8", "recipe.lora needs peft: pip install 'xsent[lora]'"),
    Mistake("recipe=oracle data=parquet data.root=x", "pip install 'xsent[parquet]'"),
    Mistake("recipe=oracle data=bitext", "data.root: expected a value, data.root=..."),
    Mistake("recipe=oracle data=bitext data.root=nope", "nope"),
    Mistake("recipe=oracle data=labelled data.root=x", "choose data=bitext"),
    Mistake("recipe=paraphrase data=cldr", "data=cldr"),
    Mistake("recipe=oracle data=bitext data.root=EMPTY", "EMPTY: expected files named like en-de.tsv"),
    Mistake("recipe=oracle data=bitext data.root=BITEXT data.columns=[1,7]", "expected at least 7 columns", 1),
    Mistake("recipe=oracle data=bitext data.root=BITEXT/en-de.tsv data.source_lang=de", "data.columns=[2,1] swaps", 1),
    Mistake("recipe=oracle data=jsonl data.root=BITEXT", "BITEXT: expected a file, found a folder"),
    Mistake(
        "recipe=paraphrase data=labelled data.root=BITEXT/en-de.tsv", "found 3 columns, and 'toy' where column 3", 1
    ),
    Mistake("recipe=paraphrase data=labelled data.root=BITEXT", "data.root=BITEXT/en-de.tsv reads one file"),
    Mistake("recipe=paraphrase data=labelled data.root=x data.column=[1,2]", "did you mean data.columns?"),
    Mistake("recipe=paraphrase data=labelled data.root=x data.threshold=high", "threshold=high: expected a number"),
    Mistake("recipe=oracle data.languages=[xx]", "unknown language 'xx'"),
    Mistake("recipe=oracle ckpt_path=nope", "ckpt_path=nope: expected a run folder or a checkpoint, found none"),
    Mistake("recipe=oracle ckpt_path=last", "ckpt_path=last: no run of recipe=oracle in runs"),
    Mistake("recipe=oracle name=taken", "choose another name, or resume that run with ckpt_path=last name=taken"),
    Mistake("recipe=oracle name=a/b", "name=a/b: expected a name without /"),
    Mistake("recipe=oracle hydra.run.dir=here", "hydra.run.dir=here: expected name=... or run_dir=..."),
    Mistake(
        "recipe=labse encoder=xlmr encoder.path=nope",
        "encoder.path=nope: expected a folder",
    ),
    Mistake("search=oracle_weights search.n_trial=3", "search.n_trial=3: no such key; did you mean search.n_trials?"),
    Mistake("search=oracle_weights search.sampler=tpee", "search.sampler=tpee: expected one of tpe, random, grid"),
    Mistake("-m recipe=oracle,labze", "recipe=labze: expected one of"),
    Mistake("-m recipe=oracle seed=1,x", "seed=x: expected an integer of at least 0"),
    Mistake("experiment=oracle/table3 data.root=BITEXT", "roots.tatoeba: expected a value, roots.tatoeba=..."),
]
EVALUATE = [
    Mistake("evaluator=tatoeba", "evaluator.root: expected a value, evaluator.root=..."),
    Mistake("evaluator=tatoeba evaluator.root=nope", "nope: no such folder"),
    Mistake("experiment=oracle/table9", "it trains (experiment/oracle/base.yaml sets recipe); run it with train.py"),
    Mistake("evaluator=none", "evaluator=none: nothing to evaluate; choose one, such as evaluator=tatoeba"),
    Mistake("evaluator=heldout", "choose another, e.g. tatoeba"),
    Mistake("ckpt=nope evaluator=tatoeba evaluator.root=EMPTY", "no encoder 'nope'"),
    Mistake("device=cuda:9 evaluator=tatoeba evaluator.root=EMPTY", "device 'cuda:9' cannot be used"),
    Mistake("evaluator=tatoeba evaluator.root=EMPTY evaluator.margin=cosine", "margin=cosine: expected one of"),
    Mistake("evaluator=tatoeba evaluator.root=EMPTY evaluator.k=0", "evaluator.k=0: expected an integer of at least 1"),
    Mistake("recipe=oracle evaluator=tatoeba evaluator.root=x", "recipe=oracle: no such key"),
]
XSENT = [
    Mistake("mien a b", "no command 'mien'; did you mean mine?"),
    Mistake("mine BITEXT/en-de.tsv nope.tsv -o c.tsv", "nope.tsv", 1),
    Mistake("mine a b -o c.tsv --treshold 1", "no option --treshold; did you mean --threshold?"),
    Mistake("noise nope.txt -o out.txt", "nope.txt", 1),
    Mistake("filter nope.tsv -o x.tsv --ckpt runs/taken", "nope.tsv", 1),
    Mistake("compare runs/taken -o x.html", "expected two runs or more to compare, found 1", 1),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of a user, with a bitext, an empty folder and a run; no optional package is installed."""
    toy_bitext(tmp_path / "BITEXT", pairs=20)
    (tmp_path / "EMPTY").mkdir()
    (tmp_path / "runs" / "taken").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("xsent.run.config.checks.find_spec", lambda name: None)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    return tmp_path


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize(
    ("program", "mistake"),
    [("train", mistake) for mistake in TRAIN] + [("evaluate", mistake) for mistake in EVALUATE],
    ids=lambda value: value if isinstance(value, str) else value.command,
)
def test_a_mistake_is_one_line_that_names_the_remedy_and_leaves_nothing(
    folder: Path, caplog: pytest.LogCaptureFixture, program: str, mistake: Mistake
) -> None:
    before = set(folder.rglob("*"))
    status = main([program, *mistake.command.split(), "cache_dir=cache"] if mistake.command else [program])
    (error,) = errors(caplog)
    assert mistake.message in error
    assert "\n" not in error
    assert status == mistake.status
    assert set(folder.rglob("*")) == before


@pytest.mark.parametrize("mistake", XSENT, ids=lambda mistake: mistake.command)
def test_so_it_is_with_the_other_commands(
    folder: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], mistake: Mistake
) -> None:
    before = set(folder.rglob("*"))
    try:
        status: object = main(mistake.command.split())
    except SystemExit as end:
        status = end.code
    (error,) = errors(caplog) + capsys.readouterr().err.splitlines()
    assert mistake.message in error
    assert status == mistake.status
    assert set(folder.rglob("*")) == before


@pytest.mark.slow
def test_a_process_fails_in_one_line_and_stops_at_ctrl_c_with_what_can_be_resumed(folder: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    options = ["recipe=oracle", "data.languages=[deu]", "cache_dir=cache", "name=stopped"]
    for program in ([str(ROOT / "train.py")], ["-m", "xsent.cli", "train"]):
        command = [sys.executable, *program, *options]
        process = subprocess.run([*command, "trainer.max_epoch=1"], capture_output=True, text=True, env=environment)
        assert process.returncode == 2
        (line,) = process.stderr.splitlines()
        assert line.endswith("ERROR xsent: trainer.max_epoch=1: no such key; did you mean trainer.max_epochs?")
    assert not (folder / "runs" / "stopped").exists()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as run:
        while not (folder / "runs/stopped/checkpoints/last.ckpt").is_file():
            assert run.poll() is None
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate()
    assert run.returncode == 130
    (error,) = [line for line in errors.splitlines() if " ERROR " in line]
    assert error.endswith("resumes a run that has a checkpoint")
    assert "Traceback" not in errors


def test_a_bug_is_one_line_too_and_a_traceback_only_on_request(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("xsent.sweeps.dispatch.train_run", lambda config: config["bug"])
    for wanted in ("", "1"):
        caplog.clear()
        monkeypatch.setenv("XSENT_TRACEBACK", wanted)
        assert main(["train", "recipe=oracle"]) == 1
        assert errors(caplog) == ["KeyError: 'bug'; XSENT_TRACEBACK=1 shows where"]
        assert ("Traceback" in caplog.text) == bool(wanted)
    assert sorted(path.name for path in (folder / "runs").iterdir()) == ["taken"]


def test_ctrl_c_has_status_130(folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def interrupted(config: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("xsent.sweeps.dispatch.train_run", interrupted)
    assert main(["train", "recipe=oracle"]) == 130
    assert errors(caplog) == ["interrupted; the same command with ckpt_path=last resumes a run that has a checkpoint"]
