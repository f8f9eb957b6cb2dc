"""Encode job: a vector for each line of a text file, in bounded memory; a killed run continues."""

import hashlib
import json
import logging
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from xsent import __version__
from xsent.batch import Embedder, Precision
from xsent.config_checks import check_boolean, check_choice, check_device, check_integer
from xsent.data.readers.lines import valid_lines
from xsent.files.array_file import save_array, write_array
from xsent.files.atomic import atomic_path
from xsent.jobs.checks import check_files, check_free_space, check_input
from xsent.jobs.work_folder import WorkFolder, open_work_folder
from xsent.quantization import DTYPES, check_length_one, quantise, stored_size
from xsent.similarity import NotFiniteError, check_finite, encoder_name

log = logging.getLogger(__name__)

STDIN = Path("-")
KIND = "vectors"  # of the blocks, and name of their array
TENSOR_TYPES = {"float32": "F32", "float16": "F16", "int8": "I8", "uint8": "U8"}  # of safetensors


class EncodeOptions(NamedTuple):
    """Settings of an encode job; ``conf/job/encode.yaml`` explains each."""

    space: str | None
    normalize: bool
    precision: Precision
    batch_size: int | None
    device: str
    block: int


class EncodeSummary(NamedTuple):
    """Counts, speed and output of ``encode_file``."""

    output: Path
    lines: int
    dim: int
    empty: int  # lines without text
    unknown: int  # lines with text, in which the encoder knows no token
    encoded: int  # lines; the others are from an earlier run
    seconds: float  # for these lines

    def __str__(self) -> str:
        """One line for the log."""
        unknown = f", {self.unknown:,} lines without a known token" if self.unknown else ""
        return (
            f"{self.lines:,} vectors of {self.dim} dimensions; {self.empty:,} empty lines{unknown};"
            f" {self.encoded:,} encoded in {self.seconds:.1f} s, {self.encoded / max(self.seconds, 1e-9):,.0f}"
            f" sentences/s: {self.output}"
        )


def options_from(config: Mapping[str, Any]) -> EncodeOptions:
    """The settings among the keys of ``conf/job/encode.yaml``.

    Raises:
        ValueError: a value of another type or out of range, or a device that cannot be used.
    """
    options = EncodeOptions(**{name: config[name] for name in EncodeOptions._fields})
    check_boolean("normalize", options.normalize)
    check_choice("precision", options.precision, get_args(Precision))
    if options.normalize:
        check_length_one(options.precision, option="--normalize")
    if options.batch_size is not None:
        check_integer("batch_size", options.batch_size, minimum=1)
    check_integer("block", options.block, minimum=1)
    check_device(options.device)
    return options


def encode_file(
    source: Path,
    output: Path,
    *,
    load: Callable[[], Embedder],
    options: EncodeOptions,
    work_dir: Path | None,
    keep_work: bool,
) -> EncodeSummary:
    """Write the vector of each line; row i belongs to line i, and an empty line has zeros.

    The text is read twice: to check and count its lines, and to encode them. Memory holds one block of lines.

    Args:
        source: one sentence per line, UTF-8, plain or ``.gz``; ``-`` is the standard input.
        output: ``.npy`` (N, D), ``.safetensors`` with a tensor ``vectors`` (N, D), or ``.parquet`` with the columns
            ``line`` and ``vector``; written atomically. Binary vectors have D / 8 bytes.
        load: returns the encoder; called after the text has been checked.
        work_dir: blocks of the unfinished job; None is ``<output>.work``.

    Raises:
        FileNotFoundError: no such text, or no such folder for the output.
        ValueError: another suffix of the output, which is the text or no regular file, a line that is not UTF-8, no
            line with text, or the work folder belongs to another job.
        ImportError: ``.parquet`` without pyarrow.
        OSError: the disk is full, or the output cannot be written.
    """
    write = _writer(output)
    work_dir = work_dir or output.with_name(f"{output.name}.work")
    sources = [] if source == STDIN else [source]
    check_files(sources, [output], work_dir=work_dir)
    for path in sources:
        check_input(path)
    with _readable(source) as (path, name):
        text = _check_text(path, name)
        embedder = load()
        dim = embedder.encode(["."], space=options.space).size(1)
        size = stored_size(dim, options.precision)
        settings = {"normalize": options.normalize, "precision": options.precision, "block": options.block}
        # The last bits of a vector depend on the device.
        origin = {"encoder": embedder.digest(), "device": torch.device(options.device).type, "xsent": __version__}
        manifest = {"text": text.sha256, "space": options.space, **origin, **settings}
        with open_work_folder(work_dir, manifest, keep=keep_work) as work:
            job = _Job(work, embedder, options, text.lines, size, DTYPES[options.precision])
            check_free_space(work.path, max(0, 2 * job.bytes - work.size(KIND)))
            start = time.perf_counter()
            encoded = job.encode(_lines(path, name), name)
            seconds = time.perf_counter() - start
            with atomic_path(output) as temporary:
                write(temporary, job)
            zeros = sum(int(work.array(KIND, number, "zeros")[0]) for number in job.blocks)
    return EncodeSummary(output, text.lines, dim, text.empty, zeros - text.empty, encoded, seconds)


@dataclass(frozen=True)
class _Job:
    """The blocks of vectors between a text and its output file."""

    work: WorkFolder
    embedder: Embedder
    options: EncodeOptions
    lines: int
    size: int  # numbers of a stored vector
    dtype: np.dtype[Any]

    @property
    def blocks(self) -> range:
        return range(-(-self.lines // self.options.block))

    @property
    def bytes(self) -> int:
        """Size of all vectors."""
        return self.lines * self.size * self.dtype.itemsize

    def encode(self, lines: Iterator[str], name: str) -> int:
        """Make the missing blocks; returns how many lines were encoded."""
        encoded: list[int] = []

        def write(number: int, texts: list[str], folder: Path) -> None:
            space, normalize, precision, batch_size = self.options[:4]
            computed: Precision = "bfloat16" if precision == "bfloat16" else "float32"
            encode = partial(self.embedder.encode, space=space, normalize=normalize, precision=computed)
            try:
                embeddings = encode(texts, batch_size=batch_size)
                check_finite(embeddings, encoder_name(self.embedder))
            except NotFiniteError as error:
                raise error.at(f"{name}:{number * self.options.block + error.row + 1}") from None
            save_array(folder / f"{KIND}.npy", quantise(embeddings, precision))
            save_array(folder / "zeros.npy", np.array([(~embeddings.numpy().any(axis=1)).sum()]))
            encoded.append(len(texts))

        with tqdm(total=self.lines, desc=f"encoding {name}", unit=" lines", delay=2) as bar:
            for number in self.blocks:
                texts = list(islice(lines, self.options.block))
                self.work.make(KIND, number, partial(write, number, texts))
                bar.update(len(texts))
        return sum(encoded)

    def parts(self) -> Iterator[NDArray[np.generic]]:
        """The vectors, block by block."""
        return (self.work.array(KIND, number, KIND) for number in self.blocks)


# ---- the text


class _Text(NamedTuple):
    lines: int
    empty: int  # without text
    sha256: str  # of the lines


@contextmanager
def _readable(source: Path) -> Iterator[tuple[Path, str]]:
    """A file that can be read twice, and its name for messages."""
    if source != STDIN:
        yield source, str(source)
        return
    with NamedTemporaryFile("wb", prefix="xsent-stdin-") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield Path(copy.name), "standard input"


def _lines(path: Path, name: str) -> Iterator[str]:
    return valid_lines(path, name, "every line needs a vector, none is skipped")


def _check_text(path: Path, name: str) -> _Text:
    content, lines, empty = hashlib.sha256(), 0, 0
    for line in tqdm(_lines(path, name), desc=f"reading {name}", unit=" lines", delay=2, leave=False):
        content.update(line.encode() + b"\n")
        lines += 1
        empty += not line.strip()
    if empty == lines:
        raise ValueError(f"{name}: expected one sentence per line, found {lines:,} lines, none with text")
    return _Text(lines, empty, content.hexdigest())


# ---- the output


def _writer(output: Path) -> Callable[[Path, _Job], None]:
    writers = {".npy": _write_npy, ".safetensors": _write_safetensors, ".parquet": _write_parquet}
    if output.suffix not in writers:
        raise ValueError(f"{output}: expected a name that ends in {', '.join(writers)}")
    if output.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise ImportError(f"{output}: .parquet needs pyarrow: pip install 'xsent[parquet]'; or write .npy")
    return writers[output.suffix]


def _write_npy(path: Path, job: _Job) -> None:
    write_array(path, job.parts(), dtype=job.dtype, shape=(job.lines, job.size))


def _write_safetensors(path: Path, job: _Job) -> None:
    """Write header and numbers without the package, which needs all vectors in memory."""
    tensor = {"dtype": TENSOR_TYPES[job.dtype.name], "shape": [job.lines, job.size], "data_offsets": [0, job.bytes]}
    header = json.dumps({"vectors": tensor}).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for part in job.parts():
            file.write(np.ascontiguousarray(part, dtype=job.dtype.newbyteorder("<")).data)


def _write_parquet(path: Path, job: _Job) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    vector = pa.list_(pa.from_numpy_dtype(job.dtype), job.size)
    schema = pa.schema([("line", pa.int64()), ("vector", vector)])
    with parquet.ParquetWriter(path, schema, use_dictionary=False) as writer:
        first = 1
        for part in job.parts():
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(part).reshape(-1)), type=vector)
            writer.write_table(pa.table([pa.array(range(first, first + len(part))), vectors], schema=schema))
            first += len(part)
