"""A small FLORES folder for tests of xSIM++: English and German."""

from pathlib import Path

ENGLISH = ["Two cats sleep in Paris.", "He was here in 1990.", "Wow!"]


def write(path: Path, *lines: str) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def write_flores(folder: Path) -> Path:
    write(folder / "eng_Latn.dev", *ENGLISH)
    write(folder / "deu_Latn.dev", "Zwei Katzen schlafen in Paris.", "Er war 1990 hier.", "Oh!")
    return folder
