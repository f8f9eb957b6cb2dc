"""Archives: bombs, damage, encryption, hostile names. Expected: the undamaged lines, or an error with the name."""

import bz2
import gzip
import stat
import zipfile
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.inject import Damage, damages, outcome
from xsent.data.readers.lines import open_bytes, read_json, read_lines
from xsent.data.readers.parallel import read_moses, read_opus_zip
from xsent.data.readers.rejects import RejectLedger
from xsent.files import archives

LINES = [f"line {number} of äöü\n" for number in range(300)]
TEXT = "".join(LINES).encode()
NAMES = ("corpus.en-de.en", "corpus.en-de.de")


def zip_of(path: Path, members: dict[str, bytes], *, kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=kind)
    return path


def opus(path: Path, *, kind: int = zipfile.ZIP_DEFLATED) -> Path:
    return zip_of(path, dict.fromkeys(NAMES, TEXT), kind=kind)


def pairs(path: Path) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_opus_zip(RejectLedger(strict=True), str(path))]


def gzip_lines(path: Path) -> list[str]:
    with open_bytes(path) as file:
        return [line.decode() for line in file]


def check_pairs_or_name(path: Path) -> None:
    found = outcome(lambda: pairs(path), ValueError, FileNotFoundError)  # FileNotFoundError: a name inside has changed
    if isinstance(found, Exception):
        assert str(found).startswith(str(path))
        assert "\n" not in str(found)
    else:
        assert found == EXPECTED


EXPECTED = [(line.strip(), line.strip()) for line in LINES]


# ---- damage


@pytest.mark.parametrize("damage", damages(90, seed=1))
def test_a_damaged_gzip_file_gives_its_lines_or_its_name(damage: Damage, tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(TEXT, mtime=0))
    damage.apply(path)
    found = outcome(lambda: gzip_lines(path), ValueError)
    if isinstance(found, ValueError):
        assert str(found).startswith(f"{path}: expected a complete gzip file, found a damaged one")
        assert "\n" not in str(found)
    else:  # only the header, which holds a time and a system, has no checksum
        assert found == LINES


@pytest.mark.parametrize("damage", damages(90, seed=2))
def test_a_damaged_zip_file_gives_its_pairs_or_its_name(damage: Damage, tmp_path: Path) -> None:
    path = opus(tmp_path / "corpus.zip")
    damage.apply(path)
    check_pairs_or_name(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has no bytes"),
        (TEXT, "Not a gzipped file"),
        (gzip.compress(TEXT) + b"text", "Not a gzipped file"),
        (gzip.compress(TEXT) + gzip.compress(TEXT)[:-5], "end-of-stream"),
        (bz2.compress(TEXT), "Not a gzipped file"),
    ],
    ids=["empty", "plain text", "text at the end", "second member truncated", "bzip2"],
)
def test_what_is_no_gzip_file_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path}: expected a complete gzip file, found a damaged one .*{message}"):
        gzip_lines(path)


def test_several_gzip_members_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(b"".join(gzip.compress(line.encode()) for line in LINES) + bytes(8))
    assert gzip_lines(path) == LINES


# ---- bombs


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "FREE_BYTES", 10_000)


def bomb() -> bytes:
    return b"a a\n" * 500_000


def moses(folder: Path, content: bytes) -> list[object]:
    for name in NAMES:
        (folder / f"{name}.gz").write_bytes(content)
    return list(read_moses(RejectLedger(strict=False), str(folder)))


READERS: dict[str, Callable[[Path], object]] = {
    "stream": gzip_lines,
    "columns": lambda path: list(read_lines(path)),
    "JSON": read_json,
}


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("reader", READERS)
def test_a_gzip_bomb_stops_with_its_name(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(bomb()))
    with pytest.raises(ValueError, match=rf"{path}: [\d,]+ bytes unpack to more than [\d,]+, as a decompression bomb"):
        READERS[reader](path)


@pytest.mark.parametrize("reader", ["columns", "JSON"])
def test_a_gzip_file_in_a_gzip_file_is_refused_as_text(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "text.json.gz"
    path.write_bytes(gzip.compress(gzip.compress(TEXT)))
    with pytest.raises(ValueError, match=f"{path}:1: broken UTF-8"):
        READERS[reader](path)


@pytest.mark.usefixtures("small_limit")
def test_a_bomb_among_moses_files_stops_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"corpus\.en-de\.en\.gz: .*unpack to more than"):
        moses(tmp_path, gzip.compress(bomb()))


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_bomb_stops_with_its_name(kind: int, tmp_path: Path) -> None:
    path = zip_of(tmp_path / "bomb.zip", dict.fromkeys(NAMES, bomb()), kind=kind)
    with pytest.raises(ValueError, match=rf"{path}: [\d,]+ bytes unpack to more than"):
        pairs(path)


@pytest.mark.usefixtures("small_limit")
def test_a_bomb_in_the_second_layer_is_counted(tmp_path: Path) -> None:
    inner = gzip.compress(bomb())
    path = zip_of(tmp_path / "bomb.zip", {f"{name}.gz": inner for name in NAMES})
    with pytest.raises(ValueError, match="unpack to more than"):
        pairs(path)


@pytest.mark.usefixtures("small_limit")
def test_many_files_in_a_zip_share_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = {f"c{number}.en-de.{lang}": b"a a\n" * 1500 for number in range(40) for lang in ("en", "de")}
    path = zip_of(tmp_path / "many.zip", members)
    assert path.stat().st_size * archives.LARGEST_RATIO > 80 * 6000  # below the ratio: read in full
    assert len(pairs(path)) == 40 * 1500
    monkeypatch.setattr(archives, "LARGEST_RATIO", 1)
    with pytest.raises(ValueError, match=f"{path}: .*unpack to more than"):
        pairs(path)


@pytest.mark.exhaustive
def test_the_limit_is_a_gibibyte_for_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    piece = gzip.compress(b"\n" * 2**26)
    path.write_bytes(piece * 17)
    with open_bytes(path) as file, pytest.raises(ValueError, match=r"unpack to more than 1,073,741,824"):
        deque(iter(lambda: file.read(2**24), b""), maxlen=0)


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("size", [1_000, 100_000, 3_000_000])
def test_text_of_any_size_is_no_bomb(size: int, tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    lines = [f"{number * 7919} is the number of this line\n" for number in range(size // 35)]
    path.write_bytes(gzip.compress("".join(lines).encode()))
    assert gzip_lines(path) == lines


# ---- hostile zip files


def encrypted(path: Path) -> Path:
    """Set the flag of encryption of both files in the local headers and the directory."""
    content = bytearray(opus(path).read_bytes())
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.find(signature)
        while start >= 0:
            content[start + at] |= 1
            start = content.find(signature, start + 4)
    path.write_bytes(content)
    return path


def with_links(path: Path) -> Path:
    secret = path.parent / "secret.txt"
    secret.write_text("do not read\n")
    with zipfile.ZipFile(path, "w") as archive:
        for name in NAMES:
            link = zipfile.ZipInfo(name)
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(link, str(secret))
    return path


def named_twice(path: Path) -> Path:
    content = zip_of(path, {NAMES[0]: TEXT, NAMES[1]: TEXT, "corpus.en-de.EN": TEXT}).read_bytes()
    path.write_bytes(content.replace(b"corpus.en-de.EN", NAMES[0].encode()))
    return path


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "encrypted": (encrypted, "en-de.en: expected a complete zip file.*encrypted"),
    "two files of a name": (named_twice, r"expected one file of each name, found two named corpus\.en-de\.en"),
    "empty": (lambda path: zip_of(path, {}), "expected files such as corpus.en-de.en.*found nothing"),
    "no bytes": (lambda path: path.write_bytes(b""), "expected a complete zip file"),
    "text": (lambda path: path.write_bytes(TEXT), "expected a complete zip file"),
    "a gzip file": (lambda path: path.write_bytes(gzip.compress(TEXT)), "expected a complete zip file"),
    "folders of these names": (
        lambda path: zip_of(path, {f"{name}/": b"" for name in NAMES}),
        "expected files such as corpus.en-de.en",
    ),
    "one side": (lambda path: zip_of(path, {NAMES[0]: TEXT}), r"holds corpus\.en-de\.en, expected corpus\.en-de\.de"),
    "sides of two lengths": (
        lambda path: zip_of(path, {NAMES[0]: TEXT, NAMES[1]: TEXT + b"more\n"}),
        "must be line-aligned",
    ),
    "inner gzip that is none": (
        lambda path: zip_of(path, {f"{name}.gz": TEXT for name in NAMES}),
        r"en\.gz: expected a complete gzip file",
    ),
    "zip inside": (
        lambda path: zip_of(path, {"corpus.zip": opus(path.parent / "inner.zip").read_bytes()}),
        "expected files such as corpus.en-de.en.*found corpus.zip",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_zip_file_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    make, message = HOSTILE[kind]
    path = tmp_path / "corpus.zip"
    make(path)
    files = {file: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises((ValueError, FileNotFoundError), match=f"{path}.*{message}"):
        pairs(path)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == files


@pytest.mark.parametrize("prefix", ["../", "../../../", "/", "C:\\", "a/../../", "./"])
def test_a_name_that_leads_out_of_the_archive_writes_nothing(prefix: str, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    path = zip_of(folder / "corpus.zip", {prefix + name: TEXT for name in NAMES})
    assert pairs(path) == EXPECTED
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]


def test_a_link_in_a_zip_file_is_not_followed(tmp_path: Path) -> None:
    path = with_links(tmp_path / "corpus.zip")
    assert pairs(path) == [(str(tmp_path / "secret.txt"),) * 2]  # the text of the link


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_every_compression_of_a_zip_gives_the_same_pairs(kind: int, tmp_path: Path) -> None:
    assert pairs(opus(tmp_path / "corpus.zip", kind=kind)) == EXPECTED


def test_gzip_files_in_a_zip_are_read(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "corpus.zip", {f"{name}.gz": gzip.compress(TEXT) for name in NAMES})
    assert pairs(path) == EXPECTED


@pytest.mark.parametrize("claimed", [0, 1, 10**6, 2**32 - 2])
def test_a_false_size_in_a_zip_gives_the_pairs_or_the_name(claimed: int, tmp_path: Path) -> None:
    path = opus(tmp_path / "corpus.zip")
    content = bytearray(path.read_bytes())
    start = content.rfind(b"PK\x01\x02", 0, content.rfind(b"PK\x01\x02"))
    content[start + 24 : start + 28] = claimed.to_bytes(4, "little")
    path.write_bytes(content)
    check_pairs_or_name(path)
