"""``xsent mine``: find translations among the sentences of two files."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xsent.cli.options import add_set, check_encoder, defaults

if TYPE_CHECKING:
    from xsent.batch import Embedder


def add(commands: Any) -> None:
    """Add the command to those of ``xsent``."""
    about = "Find translations among the sentences of two files; a killed run continues."
    parser = commands.add_parser(
        "mine", help=about, description=about, epilog="Every other value of conf/mine.yaml goes by --set.",
        formatter_class=argparse.RawTextHelpFormatter,
    )  # fmt: skip
    parser.set_defaults(run=_mine, interrupted="the same command continues")
    default = defaults("mine")
    parser.add_argument("source", type=Path, metavar="SOURCE", help="a sentence a line, UTF-8, plain or .gz")
    parser.add_argument("target", type=Path, metavar="TARGET", help="likewise; both need not fit in memory")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", required=True,
        help="TSV with a header: score, source line, target line, source, target",
    )  # fmt: skip
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--encoder", metavar="NAME", help=f"a file of conf/encoder (default: {default['encoder']})")
    which.add_argument("--ckpt", metavar="RUN", help="a run folder or checkpoint file instead")
    arguments: list[tuple[str, Callable[[str], object], str, str]] = [
        ("space", str, "SPACE", "of a run with heads: meaning | language | original"),
        ("margin", str, "NAME", "ratio | distance | absolute"),
        ("k", int, "N", "neighbours that are averaged"),
        ("strategy", str, "NAME", "forward | backward | intersect | max"),
        ("threshold", float, "SCORE", "keep pairs above it"),
        ("search", str, "HOW", f"exact | cells | auto: exact up to {default['exact_up_to']:.0e} pairs of sentences"),
        ("work-dir", str, "DIR", "where shards lie until the job is done (default: FILE.work)"),
        ("engine", str, "NAME", "local | ray: who does the shards"),
        ("address", str, "ADDRESS", "of a Ray cluster, e.g. auto; otherwise one is started here"),
        ("device", str, "DEVICE", "cpu | cuda | cuda:1"),
    ]
    for name, kind, metavar, said in arguments:
        value = default[name.replace("-", "_")]
        shown = "" if value is None else f" (default: {value})"
        parser.add_argument(f"--{name}", metavar=metavar, type=kind, help=said + shown)
    # None where it was not given: conf/mine.yaml alone knows the defaults.
    parser.add_argument(
        "--keep-work",
        action="store_true",
        default=None,
        help="leave the shards: the next margin or threshold takes seconds",
    )
    add_set(parser, "encoder.path=/models/labse or cells.probes=128")


def _mine(given: argparse.Namespace) -> None:
    # torch takes seconds to import, and --help needs none of it.
    from xsent.jobs.engines import engine_named
    from xsent.jobs.mine import mine_files
    from xsent.jobs.options import options_from
    from xsent.run import load_config

    check_encoder(given.encoder)
    config = load_config("mine", given.set + ([f"encoder={given.encoder}"] if given.encoder else []))
    for name, value in vars(given).items():
        if name in config and name != "encoder" and value is not None:
            config[name] = value
    options = options_from(config)
    # Said once per shard otherwise; the job says it for each side.
    logging.getLogger("xsent.models.encoder").setLevel(logging.ERROR)
    with engine_named(config["engine"], address=config["address"], retries=config["retries"]) as engine:
        mine_files(
            given.source, given.target, given.output, load=_Loader(config), space=config["space"],
            device=config["device"], options=options, engine=engine,
            work_dir=Path(config["work_dir"]) if config["work_dir"] else None, keep_work=config["keep_work"],
        )  # fmt: skip


class _Loader:
    """Loads the encoder that a config names, here or in another process.

    Raises:
        ValueError: a space is asked for and the encoder has but one.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.encoder: dict[str, Any] = config["encoder"]
        self.ckpt: str | None = config["ckpt"]
        self.space: str | None = config["space"]
        self.device: str = config["device"]

    def __call__(self) -> Embedder:
        from xsent.models.disentangled import SPACES, DisentangledEncoder
        from xsent.run import build, load_encoder

        embedder: Embedder
        if self.ckpt is not None:
            embedder = load_encoder(self.ckpt, device=self.device)
        else:
            embedder = build(self.encoder).to(self.device)
        if self.space is not None and not isinstance(embedder, DisentangledEncoder):
            raise ValueError(f"space={self.space}: only a run with heads has spaces ({', '.join(SPACES)}); give --ckpt")
        return embedder
