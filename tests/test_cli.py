"""The console command: fast help, one-line errors, mining and noise from end to end."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import xsent
from tests.helpers import ROOT, config, toy_bitext, toy_overrides
from xsent.cli import COMMANDS, main
from xsent.run import train


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("files")
    german, english = folder / "text.de", folder / "text.en"
    german.write_text("Der Hund schläft.\nWir essen Brot.\nDas Haus ist rot.\nEs regnet heute.\n", encoding="utf-8")
    english.write_text("It is raining today.\nThe house is red.\nThe dog sleeps.\nWe eat bread.\n", encoding="utf-8")
    return german, english


def mine(files: tuple[Path, Path], output: Path, *options: str) -> int:
    return main(["mine", *map(str, files), "-o", str(output), *options])


def rows(output: Path) -> list[list[str]]:
    return [line.split("\t") for line in output.read_text(encoding="utf-8").split("\n")[:-1]]


HELP = """
import sys, xsent.cli
for command in ([], ["mine"], ["noise"], ["diverge"], ["filter"], ["distract"], ["export"], ["mteb"], ["compare"]):
    try:
        xsent.cli.main([*command, "--help"])
    except SystemExit as end:
        assert end.code == 0
    heavy = {"torch", "numpy", "hydra", "ray", "faiss", "transformers"} & set(sys.modules)
    assert not heavy, (command, heavy)
"""


def test_help_imports_nothing_heavy() -> None:
    start = time.perf_counter()
    process = subprocess.run([sys.executable, "-c", HELP], cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    # About 0.2 seconds on an idle machine; other tests may run at the same time.
    assert time.perf_counter() - start < 5
    assert process.stdout.count("usage: xsent") == 9


def test_help_documents_every_option_and_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["mine", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    values = yaml.safe_load((ROOT / "conf" / "job" / "mine.yaml").read_text())
    for name in ("margin", "k", "strategy", "engine", "device"):
        assert re.search(rf"--{name} [^-]*\(default: {values[name]}\)", text)
    for name in ("--encoder", "--space", "--threshold", "--work-dir", "--address", "--keep-work", "--set"):
        assert name in text


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"xsent {xsent.__version__}\n"


def test_help_lists_each_command_once_on_one_line_of_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.split("\n")
    assert max(map(len, lines)) <= 80
    listed = [line.split()[0] for line in lines if re.match(r"  [a-z-]+  +[A-Z]", line)]
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("command", [name for name, command in COMMANDS.items() if command.set_example])
def test_help_lists_each_value_that_can_be_set(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = capsys.readouterr().out
    assert max(map(len, text.split("\n"))) <= 80
    values = yaml.safe_load((ROOT / "conf" / "job" / f"{command.replace('-', '_')}.yaml").read_text())
    for key, value in values.items():
        if key not in ("defaults", "published") and not isinstance(value, dict) and not str(value).startswith("${"):
            assert f"--{key.replace('_', '-')}" in text or f"\n  {key}=" in text or key == "search_method", key


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("mien a b", "xsent: error: no command 'mien'; did you mean mine? See xsent --help"),
        ("", "xsent: error: the following arguments are required: COMMAND. See xsent --help"),
        ("mine a b -o c --treshold 1", "xsent mine: error: no option --treshold; did you mean --threshold? See xsent"),
        ("mine a b --outptu c", "xsent mine: error: no option --outptu; did you mean --output? See xsent mine --help"),
        ("compare a --html c", "xsent compare: error: no option --html. See xsent compare --help"),
        ("mine a b", "xsent mine: error: the following arguments are required: -o/--output. See xsent mine --help"),
        ("mine a b -o c --k five", "xsent mine: error: argument --k: invalid int value: 'five'. See xsent mine --help"),
    ],
)
def test_a_wrong_command_line_gets_one_line_with_the_nearest_name_and_status_2(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(words.split())
    assert end.value.code == 2
    text = capsys.readouterr().err
    assert text.startswith(message)
    assert text.count("\n") == 1


def test_translations_come_out_best_first_with_their_lines(files: tuple[Path, Path], tmp_path: Path) -> None:
    assert mine(files, tmp_path / "mined.tsv") == 0
    header, *mined = rows(tmp_path / "mined.tsv")
    assert header == ["score", "source_line", "target_line", "source", "target"]
    assert {(row[1], row[2]) for row in mined} == {("1", "3"), ("2", "4"), ("3", "2"), ("4", "1")}
    scores = [float(row[0]) for row in mined]
    assert scores == sorted(scores, reverse=True)
    assert ["Wir essen Brot.", "We eat bread."] in [row[3:] for row in mined]


def test_options_reach_the_job(files: tuple[Path, Path], tmp_path: Path) -> None:
    every, few = tmp_path / "every.tsv", tmp_path / "few.tsv"
    assert mine(files, every, "--margin", "absolute", "--strategy", "forward") == 0
    threshold = rows(every)[2][0]
    assert mine(files, few, "--margin", "absolute", "--strategy", "forward", "--threshold", threshold) == 0
    # The score of the second row is rounded, so the row may pass or not.
    assert len(rows(few)) in (2, 3)
    assert rows(few) == rows(every)[: len(rows(few))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--encoder", "labsee"], "no encoder 'labsee': expected "),
        (["--device", "tpu9"], "device 'tpu9' cannot be used"),
        (["--set", "ivf=3"], "ivf=3: expected values such as ivf.probes"),
        (["--margin", "cosine"], "margin=cosine: expected one of absolute, distance, ratio"),
        (["--strategy", "both"], "strategy=both: expected one of forward, backward, intersect, max"),
        (["--engine", "spark"], "engine=spark: expected one of local, ray"),
        (["--space", "meaning"], "space=meaning: expected original; only a run with heads has meaning"),
        (["--encoder", "no/such/run"], "no encoder 'no/such/run'"),
        (["--encoder", "xsent", "--set", "encoder.dim=3"], "expected --encoder NAME with it"),
        (["--set", "ivf.prob=3"], "ivf.prob=3: no such key; did you mean ivf.probes?"),
        (["--set", "ivf.zzz=3"], "ivf.zzz=3: no such key, expected one of ivf.cell_size, ivf.iterations, ivf.probes, "),
        (["--set", "margins=3"], "margins=3: no such key; did you mean margin? xsent mine --help lists the keys"),
        (["--set", "margin"], "margin: expected NAME=VALUE"),
        (["--k", "0"], "k=0: expected an integer of at least 1"),
    ],
)
def test_an_invalid_option_gets_a_one_line_error_before_any_work(
    files: tuple[Path, Path], tmp_path: Path, options: list[str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert mine(files, tmp_path / "mined.tsv", *options) == 1
    assert message in caplog.records[-1].getMessage()
    assert "\n" not in caplog.records[-1].getMessage()
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_named(files: tuple[Path, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert mine((files[0], tmp_path / "nowhere.en"), tmp_path / "mined.tsv") == 1
    assert caplog.records[-1].getMessage() == f"{tmp_path / 'nowhere.en'}: expected a text file, found none"


@pytest.mark.slow
def test_a_run_mines_in_the_requested_space(files: tuple[Path, Path], tmp_path: Path) -> None:
    data = toy_bitext(tmp_path / "data", pairs=100)
    train(config("train", tmp_path, *toy_overrides(data, "recipe=dream", "encoder=micro", "trainer.max_epochs=1")))
    spaces = {}
    for space in ("meaning", "original"):
        output = tmp_path / f"{space}.tsv"
        assert mine(files, output, "--encoder", str(tmp_path / "run"), "--space", space) == 0
        spaces[space] = rows(output)
    assert mine(files, tmp_path / "micro.tsv", "--encoder", "micro") == 0
    assert spaces["original"] == rows(tmp_path / "micro.tsv")
    assert spaces["meaning"] != spaces["original"]
    assert mine(files, tmp_path / "default.tsv", "--encoder", str(tmp_path / "run")) == 0
    assert rows(tmp_path / "default.tsv") == spaces["meaning"]


def test_augment_uses_the_values_of_the_config_by_default(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    english = tmp_path / "text.en"
    english.write_text("In 1998 the team did not win in Paris.\nA small dog barked at 7 cats.\n", encoding="utf-8")
    assert main(["augment", str(english), "-o", str(tmp_path / "one" / "text")]) == 0
    assert main(["augment", str(english), "-o", str(tmp_path / "same" / "text"), "--per-number", "4"]) == 0
    names = ["text_augmented.en", "text_errtype.en.json"]
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == names
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "same" / name).read_bytes()
    assert main(["augment", str(english), "-o", str(tmp_path / "few" / "text"), "--max-per-sentence", "1"]) == 0
    assert len((tmp_path / "few" / names[0]).read_text(encoding="utf-8").splitlines()) == 2
    assert main(["augment", str(english), "-o", str(tmp_path / "text"), "--per-entity", "-1"]) == 1
    assert caplog.records[-1].getMessage() == "per_entity=-1: expected an integer of at least 0"


# ---- noise


def noise(source: Path, output: Path, *options: str) -> int:
    return main(["noise", str(source), "-o", str(output), "--workers", "1", *options])


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.en"
    path.write_text("I am sure they are not coming on Monday because it is my birthday.\n\n" * 50, encoding="utf-8")
    return path


def test_noise_uses_the_values_of_the_config_by_default(text: Path, tmp_path: Path) -> None:
    noisy = {}
    for name, options in {
        "plain": [],
        "same": ["--seed", "42", "--transform", "mix_all"],
        "seed": ["--seed", "3"],
        "set": ["--set", "seed=3"],
        "week": ["--transform", "week"],
        "all": ["--set", "noise.selection=1"],
        "replay": ["--reference-rng"],
    }.items():
        assert noise(text, tmp_path / name, *options) == 0
        noisy[name] = (tmp_path / name).read_text(encoding="utf-8")
        assert noisy[name].count("\n") == 100
    assert noisy["plain"] == noisy["same"]
    assert noisy["seed"] == noisy["set"]
    assert len(set(noisy.values())) == 5
    assert noisy["week"] == text.read_text(encoding="utf-8").replace("Monday", "Mon.")


def test_noise_logs_each_line_and_ends_with_its_counts(
    text: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    options = ["--transform", "fing", "--set", "noise.parameters.fing.probability=0.5"]
    assert noise(text, tmp_path / "noisy.en.gz", *options, "--log", str(tmp_path / "log.tsv")) == 0
    applied = (tmp_path / "log.tsv").read_text(encoding="utf-8")
    assert applied.startswith("line\tapplied\n1\tfing,0.5\n2\t\n3\tfing,0.5\n")
    message = caplog.records[-1].getMessage()
    assert message.startswith("50 sentences, 50 changed (100.0%), ")
    assert message.endswith(f"{tmp_path / 'noisy.en.gz'}; applied fing 50")


def test_the_help_of_noise_names_all_transformations_and_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    from xsent.text.noise import MIXTURES, REGISTRY

    with pytest.raises(SystemExit):
        main(["noise", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for name in (*REGISTRY, *MIXTURES):
        assert re.search(rf" {name}: [a-z]", text)
    assert "kind of noise (default: mix_all)" in text
    assert "random seed (default: 42)" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--transform", "mixall"], "'mixall': expected mix_all, social or one of abr1, abr2, abr3, fing, homo, cont"),
        (["--set", "noise.selection=1.5"], "selection=1.5: expected a number from 0 to 1"),
        (["--set", "noise.selectoin=0.5"], "noise.selectoin"),
        (["--resources", "no/such/folder"], "no/such/folder"),
        (["--log", "OUT"], "expected different files"),
        (["--workers", "0"], "workers=0: expected at least 1"),
    ],
)
def test_an_invalid_option_of_noise_gets_a_one_line_error_before_any_work(
    text: Path, tmp_path: Path, options: list[str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    output = tmp_path / "noisy.en"
    assert noise(text, output, *(str(output) if option == "OUT" else option for option in options)) == 1
    assert message in caplog.records[-1].getMessage()
    assert [path.name for path in tmp_path.iterdir()] == ["text.en"]


def test_encoders_are_listed_and_described(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert main(["encoders"]) == 0
    assert "\nlabse              768   109          hub: LaBSE\n" in capsys.readouterr().out
    assert main(["encoders", "labse_raw"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert {"origin     hub: sentence-transformers/LaBSE", "licence    Apache-2.0"} <= set(lines)
    assert main(["encoders", "mini"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "language      pairs  Tatoeba  FLORES" in lines
    assert max(map(len, lines)) <= 80
    assert main(["encoders", "labs"]) == 1
    assert caplog.records[-1].getMessage().endswith("; did you mean labse?")
