"""Folder of the config files; SHA-256 of a file."""

import hashlib
from pathlib import Path


def conf_folder() -> Path:
    """The folder of the config files: beside the package in a checkout, inside it when installed.

    Raises:
        FileNotFoundError: in neither place.
    """
    package = Path(__file__).resolve().parent
    for folder in (package.parent / "conf", package / "conf"):
        if (folder / "train.yaml").is_file():
            return folder
    raise FileNotFoundError(f"no conf folder in {package.parent} or {package}: reinstall xsent")


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
