"""Folder of a trained encoder: replaced as a whole, and only if ``save_encoder`` wrote everything in it."""

import json
from pathlib import Path

from xsent.config_checks import UsageError
from xsent.files.atomic import atomic_folder, check_temporary_folder
from xsent.files.strict_json import read_json
from xsent.models.encoders.base import Encoder
from xsent.models.pairs.alignment_judge import AlignmentJudge

LIST = "saved_files.json"  # names of all files of the folder


def check_encoder_folder(folder: Path, *, source: str | None = None) -> None:
    """Check that an encoder can be saved there without the loss of any other file.

    Args:
        folder: to save to.
        source: local folder of the encoder that is trained, if it came from one.

    Raises:
        UsageError: the folder is ``source``, or holds something else than an encoder that ``save_encoder`` wrote.
        FileExistsError: files of others are in the temporary folder beside it.
    """
    if source is not None and folder.resolve() == Path(source).expanduser().resolve():
        raise UsageError(
            f"{folder}: expected another folder than encoder.path, which this run reads; nothing was changed"
        )
    check_temporary_folder(folder.resolve())
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder}: expected a folder for the encoder or none, found a file; nothing was changed")
    foreign = sorted(_files(folder) - _listed(folder))
    if foreign:
        raise UsageError(
            f"{folder}: expected no folder, an empty one or an encoder that save_encoder wrote, found {foreign[0]}"
            f" ({len(foreign)} such files); nothing was changed; name another folder"
        )


def save_encoder(encoder: Encoder | AlignmentJudge, folder: Path) -> None:
    """Write an encoder or judge in the format that its ``load`` reads; an earlier one is replaced as a whole.

    Raises:
        UsageError: as ``check_encoder_folder``.
        OSError: the disk is full; an earlier encoder is unchanged.
    """
    check_encoder_folder(folder)
    with atomic_folder(folder.resolve(), replace=True) as temporary:
        encoder.save(temporary)
        names = sorted({*_files(temporary), LIST})
        (temporary / LIST).write_text(json.dumps(names, indent=1) + "\n", encoding="utf-8")


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


def _listed(folder: Path) -> set[str]:
    try:
        names = read_json(folder / LIST)
    except (OSError, ValueError):
        return set()
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
