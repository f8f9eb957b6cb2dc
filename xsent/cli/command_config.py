"""Config of a command from its options, and the encoder that it names; shared by the commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xsent.catalogue import encoder_names, unknown_encoder
from xsent.config_checks import check_space

if TYPE_CHECKING:
    from xsent.batch import Embedder

# Config keys, and arguments, that name files and folders to read beside the text: an encoder, models, word lists.
READ = frozenset({"source", "path", "models", "folder", "resources"})
WRITTEN = ("output", "log", "html")  # arguments
CONTINUES = "the same command continues"  # message after Ctrl-C


def job_config(options: argparse.Namespace) -> dict[str, Any]:
    """Config of the command's job: ``conf/job``, changed by the options."""
    from xsent.jobs.checks import check_not_read
    from xsent.run import load_config

    config = load_config(options.job, read_overrides(options), encoder=encoder_source(options))
    judge = optional_path(getattr(options, "ckpt", None))
    outputs = [path for name in WRITTEN if (path := getattr(options, name, None)) is not None]
    check_not_read(outputs, [*_read_paths(config), *([] if judge is None else [judge])])
    return config


def _read_paths(config: Mapping[str, Any]) -> Iterator[Path]:
    """What the config names to read: existing files and folders."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _read_paths(value)
        elif key in READ and isinstance(value, str) and (path := Path(value).expanduser()).exists():
            yield path


def read_overrides(options: argparse.Namespace) -> list[str]:
    """``--set`` and the named options as overrides of Hydra."""
    from xsent.run.config.compose import override

    named = {key: value for key in options.option_keys if (value := vars(options)[key]) is not None}
    if source := encoder_source(options):
        del named["encoder"]
        if surplus := [text for text in options.set if text.startswith("encoder.")]:
            raise ValueError(f"--set {surplus[0]}: expected --encoder NAME with it (xsent encoders), found {source}")
    unnamed = [text for text in options.set if text.partition("=")[0] not in named]
    return [*unnamed, *(override(key, value) for key, value in named.items())]


def encoder_source(options: argparse.Namespace) -> str | None:
    """Run, checkpoint or folder given as ``--encoder``; None for a name of ``conf/encoder``, or nothing."""
    source: str | None = getattr(options, "encoder", None)
    if source is None or source in encoder_names():
        return None
    if not Path(source).expanduser().exists():
        raise FileNotFoundError(unknown_encoder(source))
    return source


def load_embedder(config: Mapping[str, Any]) -> Embedder:
    """The encoder of a config of ``job_config``; a space needs a run with heads."""
    from xsent.run import build, load_encoder

    embedder: Embedder
    if "source" in config["encoder"]:
        trust = config["trust_remote_code"]
        embedder = load_encoder(config["encoder"]["source"], device=config["device"], trust_remote_code=trust)
    else:
        embedder = build(config["encoder"], "encoder").to(config["device"])
    if config.get("dim") is not None:
        embedder.truncate_dim(config["dim"])
    if config.get("space") is not None:
        check_space(config["space"], embedder.spaces)
    return embedder


def set_encoder(options: argparse.Namespace) -> None:
    """Set ``options.encoder`` from the positional or the option: exactly one of them is given."""
    sources = [source for source in (options.source, options.encoder) if source is not None]
    if len(sources) != 1:
        raise ValueError(
            f"expected one encoder (a name, a folder or a run; `xsent encoders` lists the names), found {len(sources)}"
        )
    options.encoder = sources[0]


def optional_path(name: str | None) -> Path | None:
    """Path of a config value that may be null."""
    return Path(name) if name else None


def checkpoint_name(path: Path) -> str:
    """Name of a run folder, or of a checkpoint with its run, e.g. ``demo-last``."""
    if path.suffix != ".ckpt":
        return path.name
    return f"{path.parent.parent.name}-{path.stem}" if path.parent.name == "checkpoints" else path.stem
