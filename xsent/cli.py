"""The console command ``xsent``: options in, a job started, one line said when it ends or cannot begin."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from xsent.paths import conf_folder

if TYPE_CHECKING:
    from xsent.batch import Embedder

log = logging.getLogger("xsent")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status.

    0 is done, 1 could not be done (one line on stderr says why), 2 a wrong command line, 130 interrupted.
    """
    parser = argparse.ArgumentParser(prog="xsent", description="Train and evaluate multilingual sentence encoders.")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    _add_mine(commands)
    _add_augment(commands)
    _add_noise(commands)
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S"
    )
    run: Callable[[argparse.Namespace], None] = options.run
    try:
        run(options)
    except (ValueError, OSError, ImportError) as error:
        log.error("%s", _said(error))
        return 1
    except KeyboardInterrupt:
        log.error("interrupted; %s", options.interrupted)
        return 130
    return 0


def _said(error: Exception) -> str:
    """What an error says, in one line; of the system's own errors the file comes first."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


# ---- mine


def _add_mine(commands: Any) -> None:
    about = "Find translations among the sentences of two files; a killed run continues."
    parser = commands.add_parser(
        "mine", help=about, description=about, epilog="Every other value of conf/mine.yaml goes by --set.",
        formatter_class=argparse.RawTextHelpFormatter,
    )  # fmt: skip
    parser.set_defaults(run=_mine, interrupted="the same command continues")
    default = _defaults("mine")
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
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help="any value of the config, e.g. encoder.path=/models/labse or cells.probes=128",
    )  # fmt: skip


def _mine(given: argparse.Namespace) -> None:
    # torch takes seconds to import, and --help needs none of it.
    from xsent.jobs.engines import engine_named
    from xsent.jobs.mine import mine_files
    from xsent.jobs.options import options_from
    from xsent.run import load_config

    encoders = sorted(path.stem for path in (conf_folder() / "encoder").glob("*.yaml"))
    if given.encoder is not None and given.encoder not in encoders:
        raise ValueError(f"encoder {given.encoder!r}: expected one of {', '.join(encoders)}")
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


# ---- augment


def _add_augment(commands: Any) -> None:
    about = "Make hard negatives of English sentences for xSIM++: one small change of meaning each."
    parser = commands.add_parser("augment", help=about, description=about)
    parser.set_defaults(run=_augment, interrupted="nothing was written")
    default = _defaults("augment")
    parser.add_argument("source", type=Path, metavar="ENGLISH", help="a sentence a line, UTF-8, plain or .gz")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="PREFIX", required=True,
        help="writes PREFIX_augmented.dev and PREFIX_errtype.dev.json for a source that ends in .dev",
    )  # fmt: skip
    arguments = [
        ("seed", "of every draw"),
        ("per-number", "how often each number is replaced, at most"),
        ("per-entity", "how often each name is replaced, at most"),
        ("max-per-sentence", "at most so many in all: first of causality, then numbers, then entities"),
    ]
    for name, said in arguments:
        value = default[name.replace("-", "_")]
        shown = "no cap" if value is None else value
        parser.add_argument(f"--{name}", metavar="N", type=int, help=f"{said} (default: {shown})")


def _augment(given: argparse.Namespace) -> None:
    from xsent.data.xsimpp import augment_file
    from xsent.run import load_config

    config = load_config("augment", [])
    config |= {name: value for name, value in vars(given).items() if name in config and value is not None}
    log.info("%s", augment_file(given.source, given.output, **config))


# ---- noise


def _add_noise(commands: Any) -> None:
    about = "Make user-generated text of clean sentences: typos, abbreviations, slang."
    parser = commands.add_parser(
        "noise", help=about, description=about, epilog="Every other value of conf/noise.yaml goes by --set."
    )
    parser.set_defaults(run=_noise, interrupted="nothing was written")
    default = _defaults("noise") | {"transform": _defaults("noise/default")["transform"]}
    parser.add_argument("source", type=Path, metavar="IN", help="a sentence a line, UTF-8, plain or .gz")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", required=True, help="a noisy sentence for each, plain or .gz"
    )
    parser.add_argument(
        "--transform", metavar="NAME",
        help="mix_all, or one of abr1 abr2 abr3 fing homo cont dysl leet spel slng week spac"
        f" (default: {default['transform']})",
    )  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=int, help=f"of every draw (default: {default['seed']})")
    parser.add_argument("--log", metavar="TSV", type=Path, help="what was applied to each line: fing,0.025;cont")
    parser.add_argument("--workers", metavar="N", type=int, help="processes (default: one on each core)")
    parser.add_argument("--resources", metavar="DIR", help="NL-Augmenter's lexicons (default: the bundled ones)")
    parser.add_argument(
        "--reference-rng", action="store_true", default=None,
        help="the random numbers of the released script; in one process",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help="any value of the config, e.g. noise.selection=0.2 or noise.parameters.fing.probability=0.1",
    )  # fmt: skip


def _noise(given: argparse.Namespace) -> None:
    from xsent.jobs.noise import noise_file
    from xsent.run import build, load_config

    config = load_config("noise", given.set)
    for name, value in vars(given).items():
        if value is not None and name in config["noise"]:
            config["noise"][name] = value
    workers = config["workers"] if given.workers is None else given.workers
    log.info(
        "%s", noise_file(given.source, given.output, build(config["noise"]), applied_log=given.log, workers=workers)
    )


def _defaults(name: str) -> dict[str, Any]:
    """The values of a config file, and what it chooses of each group; read without Hydra, which takes longer."""
    values: dict[str, Any] = yaml.safe_load((conf_folder() / f"{name}.yaml").read_text(encoding="utf-8"))
    for choice in values.pop("defaults", []):
        if isinstance(choice, dict):
            values |= choice
    return values


if __name__ == "__main__":
    sys.exit(main())
