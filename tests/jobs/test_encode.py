"""``xsent encode``: the vectors of ``encode`` in three formats, killed runs, and mistakes of users."""

import gzip
import io
import os
import re
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.child_processes import exit_code
from tests.jobs.conftest import Bitext
from xsent.cli import main
from xsent.jobs import encode
from xsent.models.encoders.static import StaticEncoder

SUFFIXES = ("npy", "safetensors", "parquet")
TEXT = "The dog sleeps.\n\nDer Hund schläft.\n中 §§\nOne, two.\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def read_vectors(path: Path) -> NDArray[Any]:
    if path.suffix == ".npy":
        return np.asarray(np.load(path))
    if path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        return load_file(path)["vectors"]
    from pyarrow import parquet

    table = parquet.read_table(path)
    assert table["line"].to_pylist() == list(range(1, len(table) + 1))
    return np.array(table["vector"].to_pylist(), dtype=table.schema.field("vector").type.value_type.to_pandas_dtype())


@pytest.mark.parametrize(
    "options",
    [{}, {"normalize": True}, {"precision": "int8"}, {"precision": "float16"}, {"precision": "binary"}],
    ids=str,
)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_each_format_has_the_vectors_of_encode(
    bitext: Bitext, micro: StaticEncoder, tmp_path: Path, suffix: str, options: dict[str, Any]
) -> None:
    output = tmp_path / f"vectors.{suffix}"
    flags = {"normalize": ["--normalize"], "precision": ["--precision", str(options.get("precision"))]}
    words = [word for name in options for word in flags[name]]
    # 720 lines in blocks of 100, the last one shorter.
    assert (
        main(["encode", str(bitext.german), "-o", str(output), "--set", "block=100", "--encoder", "micro", *words]) == 0
    )
    expected = micro.encode(bitext.german.read_text(encoding="utf-8").splitlines(), **options).numpy()
    vectors = read_vectors(output)
    assert vectors.dtype == expected.dtype
    np.testing.assert_allclose(vectors, expected, rtol=1e-5, atol=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == [output.name]


def test_row_i_belongs_to_line_i_and_empty_lines_have_zeros(
    text: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert main(["encode", str(text), "-o", str(tmp_path / "vectors.npy")]) == 0
    vectors = np.load(tmp_path / "vectors.npy")
    assert vectors.shape[0] == 5
    assert vectors.any(axis=1).tolist() == [True, False, True, vectors[3].any(), True]
    message = caplog.records[-1].getMessage()
    expected = rf"5 vectors of {vectors.shape[1]} dimensions; 1 empty lines.*; 5 encoded in .* s, .* sentences/s: .*npy"
    assert re.fullmatch(expected, message)


def test_compressed_text_and_the_standard_input_give_the_same_file(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text.gz").write_bytes(gzip.compress(text.read_bytes()))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.read_bytes())))
    outputs = []
    for number, source in enumerate([str(text), str(tmp_path / "text.gz"), "-"]):
        outputs.append(tmp_path / f"{number}.npy")
        assert main(["encode", source, "-o", str(outputs[-1])]) == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes() == outputs[2].read_bytes()


def encode_until_killed(arguments: list[str]) -> None:
    """Kill this process when it writes the fourth block."""
    save_array = vars(encode)["save_array"]

    def save_or_kill(file: Path, array: NDArray[Any]) -> None:
        if "000003" in str(file):
            os.kill(os.getpid(), signal.SIGKILL)
        save_array(file, array)

    vars(encode)["save_array"] = save_or_kill
    main(arguments)


def test_a_killed_run_continues_and_writes_the_same_bytes(
    bitext: Bitext, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    undisturbed, killed = tmp_path / "undisturbed.parquet", tmp_path / "killed.parquet"
    words = [["encode", str(bitext.eng), "-o", str(path), "--set", "block=100"] for path in (undisturbed, killed)]
    assert main(words[0]) == 0
    assert exit_code(encode_until_killed, words[1]) == -signal.SIGKILL
    assert not killed.exists()
    caplog.set_level("INFO")
    assert main(words[1]) == 0
    assert "; 420 encoded in " in caplog.records[-1].getMessage()
    assert killed.read_bytes() == undisturbed.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["text.txt", "-o", "vectors.csv"], "vectors.csv: expected a name that ends in .npy, .safetensors, .parquet"),
        (["none.txt", "-o", "vectors.npy"], "none.txt: expected a text file, found none"),
        (["text.npy", "-o", "text.npy"], "text.npy: expected different files to read and write"),
        (["text.txt", "-o", "none/vectors.npy"], "none: no such folder for the output"),
        (
            ["blank.txt", "-o", "vectors.npy"],
            "blank.txt: expected one sentence per line, found 2 lines, none with",
        ),
        (["latin.txt", "-o", "vectors.npy"], "latin.txt:2: broken UTF-8, found byte 0xe9 at position 3"),
        (["text.txt", "-o", "v.npy", "--precision", "int4"], "precision=int4: expected one of float32, float16"),
        (
            ["text.txt", "-o", "v.npy", "--precision", "int8", "--normalize"],
            "--normalize: a vector of precision int8 cannot have length one",
        ),
        (
            ["text.txt", "-o", "v.npy", "--precision", "binary", "--dim", "12"],
            "precision=binary: expected vectors whose size is a multiple of 8, found 12; truncate them to 8",
        ),
        (["text.txt", "-o", "v.npy", "--dim", "300"], "dim=300: expected 1 to 256, the size of the vectors of"),
        (["text.txt", "-o", "v.npy", "--batch-size", "0"], "batch_size=0: expected an integer of at least 1"),
        (["text.txt", "-o", "v.npy", "--device", "tpu9"], "device 'tpu9' cannot be used"),
        (["text.txt", "-o", "v.npy", "--set", "blok=3"], "; did you mean block?"),
    ],
)
def test_a_mistake_gets_a_one_line_error_and_leaves_no_file(
    text: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(text.parent)
    Path("text.npy").write_text(TEXT, encoding="utf-8")
    Path("blank.txt").write_text("\n  \n", encoding="utf-8")
    Path("latin.txt").write_bytes("ok\ncafé\n".encode("latin-1"))
    before = sorted(Path().iterdir())
    assert main(["encode", *arguments]) == 1
    assert message in caplog.records[-1].getMessage()
    assert "\n" not in caplog.records[-1].getMessage()
    assert sorted(Path().iterdir()) == before


def test_parquet_without_pyarrow_is_refused_before_the_text_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(encode, "find_spec", lambda name: None)
    assert main(["encode", str(tmp_path / "none.txt"), "-o", str(tmp_path / "vectors.parquet")]) == 1
    assert "needs pyarrow: pip install 'xsent[parquet]'" in caplog.records[-1].getMessage()
