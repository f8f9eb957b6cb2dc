"""Mining of files: equal to mining in memory for all shard sizes, kills, damaged shards and engines."""

import errno
import gzip
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.child_processes import exit_code
from tests.helpers import ROOT
from tests.jobs.conftest import Bitext, file_size_limit
from xsent.cli import main
from xsent.evaluation.search.mining import mine
from xsent.jobs import checks
from xsent.jobs.mining.engines import open_engine, run_locally
from xsent.jobs.mining.mine import MiningJob, mine_files
from xsent.jobs.mining.settings import IvfOptions, MiningOptions
from xsent.models.encoders.static import StaticEncoder

IVF = IvfOptions(cell_size=20, probes=4, sample=8, iterations=3, seed=0)
OPTIONS: dict[str, Any] = {
    "margin": "ratio",
    "k": 4,
    "strategy": "max",
    "threshold": None,
    "search_method": "auto",
    "exact_up_to": 10**9,
    "ivf": IVF,
    "shard": 300,
    "block": 250,
}
Mine = Callable[..., list[list[str]]]


@pytest.fixture
def run(micro: StaticEncoder, bitext: Bitext, tmp_path: Path) -> Mine:
    """Mines the bitext, or other files, with some options changed; returns the rows of the output."""

    def call(
        source: Path = bitext.german,
        target: Path = bitext.eng,
        *,
        output: Path = tmp_path / "mined.tsv",
        keep_work: bool = False,
        **changes: Any,
    ) -> list[list[str]]:
        options = MiningOptions(**{**OPTIONS, **changes})
        job: dict[str, Any] = {"load": lambda: micro, "engine": run_locally, "options": options, "keep_work": keep_work}
        mine_files(source, target, output, space=None, device="cpu", work_dir=None, **job)
        return [line.split("\t") for line in output.read_text(encoding="utf-8").split("\n")[1:-1]]

    return call


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


@pytest.mark.parametrize("margin", ["ratio", "distance", "absolute"])
@pytest.mark.parametrize("strategy", ["forward", "backward", "intersect", "max"])
def test_files_give_the_pairs_of_their_vectors(
    run: Mine, micro: StaticEncoder, bitext: Bitext, margin: str, strategy: str
) -> None:
    german, english = lines_of(bitext.german), lines_of(bitext.eng)
    expected = mine(micro.encode(german), micro.encode(english), margin=margin, k=4, strategy=strategy, threshold=None)
    result = run(margin=margin, strategy=strategy)
    assert [(int(row[1]) - 1, int(row[2]) - 1) for row in result] == list(
        zip(expected.source.tolist(), expected.target.tolist(), strict=True)
    )
    assert [row[0] for row in result] == [f"{score:.6f}" for score in expected.scores.tolist()]
    assert all(row[3] == german[int(row[1]) - 1] and row[4] == english[int(row[2]) - 1] for row in result)


@pytest.mark.parametrize(("shard", "block"), [(1000, 1000), (160, 90), (719, 719)])
def test_shards_and_blocks_change_nothing(run: Mine, shard: int, block: int) -> None:
    assert run(shard=shard, block=block) == run()


def test_most_translations_are_found(run: Mine, bitext: Bitext) -> None:
    result = {int(row[1]) - 1: int(row[2]) - 1 for row in run(strategy="intersect")}
    hits = sum(bitext.english[source] == target for source, target in result.items())
    assert hits > 0.9 * len(bitext.english)


def test_searching_all_cells_equals_exact_search(run: Mine) -> None:
    every = IvfOptions(cell_size=20, probes=1000, sample=8, iterations=3, seed=0)
    assert run(search_method="ivf", ivf=every) == run(search_method="exact")


def test_a_few_cells_find_nearly_the_same(run: Mine) -> None:
    exact, few = ({tuple(row[1:3]) for row in run(search_method=search)} for search in ("exact", "ivf"))
    assert len(exact & few) > 0.9 * len(exact)


def test_the_number_of_pairs_selects_exact_or_cell_search(run: Mine, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        run(exact_up_to=720 * 720)
        run(exact_up_to=720 * 720 - 1)
    message = [record.getMessage() for record in caplog.records if "search" in record.getMessage()]
    assert message[0] == "exact search: all pairs of 720 x 720 sentences"
    assert "720 x 720 sentences: 36 cells, each source searches 4 (11.1 % of them)" in message[1]


def test_sentences_repeated_on_one_side_are_in_one_pair_with_their_first_line(
    run: Mine, bitext: Bitext, tmp_path: Path
) -> None:
    repeated = tmp_path / "repeated.de.gz"
    german = lines_of(bitext.german)
    repeated.write_bytes(gzip.compress("\n".join(["", *german, *german[:200], "  "]).encode()))
    expected = [[row[0], str(int(row[1]) + 1), *row[2:]] for row in run()]
    assert run(repeated) == expected


def test_a_tab_in_a_sentence_is_written_as_a_space(run: Mine, tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).write_text("one\thouse\nthree dogs\n")
    assert ["one house", "one house"] in [row[3:] for row in run(tmp_path / "x", tmp_path / "y")]


def test_a_sentence_that_the_encoder_cannot_read_is_in_no_pair(
    run: Mine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "x").write_text("two houses\nᚠᚢᚦ\nthree dogs\n")  # runes: no piece covers them
    (tmp_path / "y").write_text("zwei Häuser\ndrei Hunde\n")
    result = run(tmp_path / "x", tmp_path / "y", strategy="forward")
    assert sorted(row[1] for row in result) == ["1", "3"]
    assert "source: the encoder knows no token of 1 of 3 sentences" in caplog.text


def test_mining_a_text_with_itself_is_a_warning(run: Mine, bitext: Bitext, caplog: pytest.LogCaptureFixture) -> None:
    result = run(bitext.eng, bitext.eng, margin="absolute", strategy="forward")
    assert sum(row[3] == row[4] for row in result) == 720
    assert "are the same text" in caplog.text


def test_k_beyond_the_pool_averages_all_of_it_with_one_warning(
    run: Mine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "x").write_text("two houses\nthree dogs\nfive birds\n")
    result = run(tmp_path / "x", tmp_path / "x", k=50)
    assert result == run(tmp_path / "x", tmp_path / "x", k=3)
    assert caplog.text.count("k=50: the target side has 3 sentences, all of them are averaged") == 1


# ---- errors before any work


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin": "cosine"}, r"margin=cosine: expected one of absolute, distance, ratio"),
        ({"strategy": "both"}, r"strategy=both: expected one of forward, backward, intersect, max"),
        ({"search_method": "hnsw"}, r"search=hnsw: expected one of auto, exact, ivf"),
        ({"k": 0}, r"k=0: expected an integer of at least 1"),
        ({"exact_up_to": "all"}, r"exact_up_to=all: expected an integer"),
        ({"ivf": IvfOptions(cell_size=20, probes=0, sample=8, iterations=3, seed=0)}, r"ivf\.probes=0"),
    ],
)
def test_unknown_options_are_refused(run: Mine, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(**changes)


def test_missing_and_empty_files_are_named_and_leave_nothing(run: Mine, bitext: Bitext, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.de"):
        run(tmp_path / "nowhere.de")
    (tmp_path / "empty.de").touch()
    with pytest.raises(ValueError, match=r"empty\.de: expected one sentence per line, found an empty file"):
        run(tmp_path / "empty.de")
    assert [path.name for path in tmp_path.iterdir()] == ["empty.de"]


def test_an_output_that_cannot_be_written_is_refused(
    run: Mine, micro: StaticEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(micro, "encode", pytest.fail)
    with pytest.raises(FileNotFoundError, match="no such folder for the output"):
        run(output=tmp_path / "nowhere" / "mined.tsv")
    with pytest.raises(IsADirectoryError, match="found a folder"):
        run(output=tmp_path)


def test_too_small_a_disk_is_an_error_before_encoding(run: Mine, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = checks.shutil.disk_usage("/")
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda path: usage._replace(free=10**5))
    # 1,440 vectors of 256 float32 are 1.5 MB already.
    with pytest.raises(OSError, match=r"not enough space: 1,[\d]{3},\d{3} bytes are needed, 100,000 are free"):
        run()


# ---- the work folder


def test_the_work_folder_is_deleted_unless_kept(run: Mine, tmp_path: Path) -> None:
    run()
    assert [path.name for path in tmp_path.iterdir()] == ["mined.tsv"]
    run(keep_work=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mined.tsv", "mined.tsv.work"]


def test_kept_shards_serve_another_margin_strategy_and_threshold(
    run: Mine, micro: StaticEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutual = run(margin="distance", strategy="intersect")
    threshold = (float(mutual[99][0]) + float(mutual[100][0])) / 2
    run(keep_work=True)
    encode = micro.encode

    def only_the_size(sentences: Sequence[str], **options: Any) -> Any:
        assert len(sentences) == 1, "encoded again"
        return encode(sentences, **options)

    monkeypatch.setattr(micro, "encode", only_the_size)
    assert run(margin="distance", strategy="intersect", threshold=threshold) == mutual[:100]


def test_shards_of_other_options_are_refused(run: Mine) -> None:
    run(keep_work=True)
    with pytest.raises(ValueError, match="k was 4, is 5"):
        run(k=5)


@pytest.mark.parametrize(
    ("kind", "array"), [("source", "text"), ("target-vectors", "vectors"), ("search", "back_rows"), ("answer", "rows")]
)
def test_a_shard_that_was_cut_short_is_named_and_made_again(
    run: Mine, tmp_path: Path, kind: str, array: str, caplog: pytest.LogCaptureFixture
) -> None:
    expected = run(keep_work=True)
    file = tmp_path / "mined.tsv.work" / kind / "000000" / f"{array}.npy"
    with file.open("r+b") as content:
        content.truncate(file.stat().st_size // 2)
    (tmp_path / "mined.tsv").unlink()
    assert run() == expected
    assert f"{kind}/000000: {array}.npy is missing, truncated or altered" in caplog.text


def command(bitext: Bitext, output: Path, *options: str, shard: int = 240, block: int = 60) -> list[str]:
    sets = ["--set", f"shard={shard}", "--set", f"block={block}", "--set", "ivf.cell_size=20"]
    return ["mine", str(bitext.german), str(bitext.eng), "-o", str(output), *sets, *options]


def mine_until_killed(arguments: list[str]) -> None:
    """Kill this process once three blocks of sources were searched."""
    search = MiningJob.search

    def search_or_kill(job: MiningJob, number: int, folder: Path) -> None:
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        search(job, number, folder)

    MiningJob.search = search_or_kill  # type: ignore[method-assign]
    main(arguments)


@pytest.mark.parametrize("search", ["exact", pytest.param("ivf", marks=pytest.mark.slow)])
def test_a_killed_run_continues_and_writes_the_same_file(
    bitext: Bitext, tmp_path: Path, search: str, caplog: pytest.LogCaptureFixture
) -> None:
    undisturbed, killed = tmp_path / "undisturbed.tsv", tmp_path / "killed.tsv"
    assert main(command(bitext, undisturbed, "--search", search)) == 0
    assert exit_code(mine_until_killed, command(bitext, killed, "--search", search)) == -signal.SIGKILL
    assert not killed.exists()
    shard = tmp_path / "killed.tsv.work" / "search" / "000002" / "sha256.json"
    first_written = shard.stat().st_mtime_ns
    caplog.set_level(logging.INFO)
    assert main(command(bitext, killed, "--search", search, "--keep-work")) == 0
    assert "continuing in" in caplog.text
    assert shard.stat().st_mtime_ns == first_written
    assert killed.read_bytes() == undisturbed.read_bytes()


def test_a_full_disk_is_named_and_keeps_the_earlier_output(
    bitext: Bitext, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    output = tmp_path / "mined.tsv"
    output.write_text("an earlier result\n")
    # The output has about 55 KB, and every shard less than 48.
    with file_size_limit(48_000):
        assert main(command(bitext, output, shard=45, block=360)) == 1
    assert caplog.messages[-1].startswith(f"{output}: {os.strerror(errno.EFBIG)}")
    assert output.read_text() == "an earlier result\n"
    assert not list(tmp_path.glob("*.tmp"))
    # The finished shards stay, so that the job continues once there is space.
    assert main(command(bitext, output, shard=45, block=360)) == 0
    assert len(lines_of(output)) > 700


# ---- Ray


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("spark", ValueError, "engine=spark: expected one of local, ray"),
        ("ray", ModuleNotFoundError, r"pip install 'xsent\[ray\]'"),
    ],
)
def test_an_engine_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, error: type[Exception], message: str
) -> None:
    monkeypatch.setattr("xsent.jobs.mining.engines.find_spec", lambda name: None)
    with pytest.raises(error, match=message), open_engine(name, address="local", retries=3):
        pass


@pytest.mark.slow
@pytest.mark.usefixtures("ray_cluster_slot")
def test_ray_writes_the_same_file_after_the_loss_of_a_machine(bitext: Bitext, tmp_path: Path) -> None:
    from ray.cluster_utils import Cluster

    local, on_ray = tmp_path / "local.tsv", tmp_path / "ray.tsv"
    assert main(command(bitext, local, block=20)) == 0
    # The head runs no task; each of the two workers has one CPU.
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        workers = [cluster.add_node(num_cpus=1, include_dashboard=False) for _ in range(2)]
        engine = ["--engine", "ray", "--address", cluster.address]
        arguments = [sys.executable, "-m", "xsent.cli", *command(bitext, on_ray, *engine, block=20)]
        process = subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        searched = tmp_path / "ray.tsv.work" / "search"
        while len(list(searched.glob("*/sha256.json"))) < 4:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        cluster.remove_node(workers[0], allow_graceful=False)
        assert process.poll() is None, "the job ended before a machine was removed"
        _, message = process.communicate(timeout=240)
        assert process.returncode == 0, message
    finally:
        cluster.shutdown()
    assert on_ray.read_bytes() == local.read_bytes()
