"""The console command ``xsent``: options in, a job started, one line said when it ends or cannot begin."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from functools import partial
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
    _add_diverge(commands)
    _add_filter(commands)
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
    _add_set(parser, "encoder.path=/models/labse or cells.probes=128")


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
    _add_set(parser, "noise.selection=0.2 or noise.parameters.fing.probability=0.1")


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


# ---- diverge


def _add_diverge(commands: Any) -> None:
    about = "Make pairs that differ in meaning from clean translations; the words that differ are labelled."
    parser = commands.add_parser(
        "diverge", help=about, description=about, epilog="Every other value of conf/diverge.yaml goes by --set."
    )
    parser.set_defaults(run=_diverge, interrupted="the same command continues")
    default = _defaults("diverge")
    parser.add_argument(
        "inputs", type=Path, metavar="IN", nargs="?",
        help="sentences and translations in columns by tab, plain or .gz; or a folder, or the beginning of names, of"
        " annotated ones: NAME.en.conllu, NAME.fr.conllu and, unless they are still to be aligned, NAME.align",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", required=True, help="a JSON object a line; OUT.summary.json counts"
    )
    for name, said in (
        ("source-conllu", "words, tags and parse of the source side, instead of what is found in IN"),
        ("target-conllu", "words of the target side, likewise"),
        ("align", "links of their words: a line of Pharaoh, from 0, for each pair; likewise"),
    ):
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=said)
    arguments: list[tuple[str, str, Callable[[str], object], str, str, object]] = [
        ("divergences", "divergences", str, "NAME", "default: as in the paper | released: as its code",
         default["divergences"]),
        ("ranker", "ranker", str, "NAME", "who chooses among WordNet's words: masked_lm; otherwise their frequency",
         default["ranker"]),
        ("aligner", "aligner", str, "NAME", "a file of conf/aligner", default["aligner"]),
        ("encoder", "encoder", str, "NAME", "a file of conf/encoder: margin scores, alignment", default["encoder"]),
        ("seed", "seed", int, "N", "of every draw", default["seed"]),
        ("seeds", "seeds.count", int, "N", "pairs that are used, at most: the best of a bitext (default: "
         f"{default['seeds']['count']}), the first of annotated files (default: all)", None),
        ("score-column", "score_column", int, "N", "where a bitext has scores, from 1; otherwise by margin", None),
        ("device", "device", str, "DEVICE", "cpu | cuda | cuda:1", default["device"]),
    ]  # fmt: skip
    for name, key, kind, metavar, said, value in arguments:
        shown = "" if value is None else f" (default: {value})"
        parser.add_argument(f"--{name}", dest=key, metavar=metavar, type=kind, help=said + shown)
    kinds = _defaults("divergences/default")["kinds"]
    parser.add_argument(
        "--kinds", metavar="KINDS", type=lambda text: text.split(","),
        help=f"with commas between them; also uneven and insert (default: {','.join(kinds)})",
    )  # fmt: skip
    parser.add_argument(
        "--work-dir", metavar="DIR", help="where annotation lies until the job is done; otherwise OUT.work"
    )
    parser.add_argument(
        "--keep-work", action="store_true", default=None, help="leave it: other kinds or another seed then take seconds"
    )
    _add_set(parser, "filter.min_distance=0 or annotator.models=/models/stanza")


def _diverge(given: argparse.Namespace) -> None:
    from xsent.jobs.diverge import Loaders, diverge_file, find_inputs
    from xsent.jobs.seeds import options_from
    from xsent.run import build, load_config

    # By Hydra, as values of the config stand in for others, such as the seed for that of the divergences.
    names = ("divergences", "ranker", "aligner", "encoder", "seed", "seeds.count", "score_column", "device")
    chosen = {name: str(value) for name in names if (value := vars(given)[name]) is not None}
    chosen |= {"divergences.kinds": f"[{','.join(given.kinds)}]"} if given.kinds else {}
    # A named option wins, as in every command.
    others = [one for one in given.set if one.partition("=")[0] not in chosen]
    config = load_config("diverge", [*others, *(f"{name}={value}" for name, value in chosen.items())])
    is_cut = any(one.startswith("seeds.count=") for one in given.set) or "seeds.count" in chosen
    config |= {name: value for name in ("work_dir", "keep_work") if (value := vars(given)[name]) is not None}
    inputs = find_inputs(
        given.inputs, source_conllu=given.source_conllu, target_conllu=given.target_conllu, align=given.align,
        source_lang=config["source_lang"], target_lang=config["target_lang"],
    )  # fmt: skip

    def on_device(node: dict[str, Any]) -> Any:
        return build(node).to(config["device"])

    def diverger() -> Any:
        made = build(config["divergences"])
        return made.with_ranker(on_device(config["ranker"])) if config.get("ranker") else made

    load = Loaders(
        diverger=diverger, annotator=partial(build, config["annotator"]), aligner=partial(on_device, config["aligner"]),
        tagger=partial(build, config["target_annotator"]) if config["target_annotator"] else None,
        embedder=partial(on_device, config["encoder"]),
    )  # fmt: skip
    summary = diverge_file(
        inputs, given.output, load=load, options=options_from(config), config=config, keep_work=config["keep_work"],
        work_dir=Path(config["work_dir"]) if config["work_dir"] else None,
        first=config["seeds"]["count"] if is_cut else None,
    )  # fmt: skip
    log.info("%s", summary)


# ---- filter


def _add_filter(commands: Any) -> None:
    about = "Say of every pair of a bitext whether it diverges in meaning, and in which words; a killed run continues."
    parser = commands.add_parser(
        "filter", help=about, description=about, epilog="Every other value of conf/filter.yaml goes by --set."
    )
    parser.set_defaults(run=_filter, interrupted="the same command continues")
    default = _defaults("filter")
    parser.add_argument("bitext", type=Path, metavar="BITEXT", help="columns by tab, UTF-8, plain or .gz")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="SCORED", required=True,
        help="the same rows with score, probability, verdict and divergent words; plain or .gz",
    )  # fmt: skip
    parser.add_argument("--ckpt", metavar="RUN", required=True, help="a run of recipe=divergence, or its checkpoint")
    parser.add_argument("--html", type=Path, metavar="PAGE", help="a sample of the pairs as a page, words marked")
    arguments: list[tuple[str, Callable[[str], object], str, str]] = [
        ("source-column", int, "N", "where the source sentences stand"),
        ("target-column", int, "N", "where their translations stand"),
        ("source-lang", str, "CODE", "its language, which decides how words are cut"),
        ("target-lang", str, "CODE", "likewise"),
        ("threshold", str, "SCORE", "pairs above it are equivalent: calibrated, as the run chose it, or a number"),
        ("keep", str, "CLASS", "which pairs are written: all | equivalent | divergent"),
        ("top", int, "N", "of these the best so many"),
        ("workers", int, "N", "processes that cut words; otherwise one on each core"),
        ("work-dir", str, "DIR", "where shards lie until the job is done; otherwise SCORED.work"),
        ("device", str, "DEVICE", "cpu | cuda | cuda:1"),
    ]
    for name, kind, metavar, said in arguments:
        value = default[name.replace("-", "_")]
        shown = "" if value is None else f" (default: {value})"
        parser.add_argument(f"--{name}", metavar=metavar, type=kind, help=said + shown)
    # None where it was not given: conf/filter.yaml alone knows the defaults.
    for name, said in (
        ("header", "the first line names the columns"),
        ("strict", "stop at the first line that holds no pair"),
        ("keep-work", "leave the shards: another threshold, keep or top then takes seconds"),
    ):
        parser.add_argument(f"--{name}", action="store_true", default=None, help=said)
    _add_set(parser, "sample.random=2000 or page.rows=50")


def _filter(given: argparse.Namespace) -> None:
    from xsent.jobs.filter import filter_bitext, options_from
    from xsent.jobs.output import check_output
    from xsent.reporting.divergence_page import check_page, write_divergence_page
    from xsent.run import load_config, load_judge

    config = load_config("filter", given.set)
    config |= {name: value for name, value in vars(given).items() if name in config and value is not None}
    options = options_from(config)
    if given.html is not None:
        check_page(**config["page"])
        check_output(given.html)
        if given.html.resolve() in (given.bitext.resolve(), given.output.resolve()):
            raise ValueError(f"{given.html}: expected a file of its own for the page, found another one's name")
    filtered = filter_bitext(
        given.bitext, given.output, load=partial(load_judge, given.ckpt, device=config["device"]),
        device=config["device"], options=options, keep_work=config["keep_work"],
        work_dir=Path(config["work_dir"]) if config["work_dir"] else None,
        show=partial(write_divergence_page, given.html, **config["page"]) if given.html is not None else None,
    )  # fmt: skip
    log.info("%s", filtered)


def _add_set(parser: argparse.ArgumentParser, example: str) -> None:
    """The option for every value that has none of its own."""
    said = f"any value of the config, e.g. {example}"
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=said)


def _defaults(name: str) -> dict[str, Any]:
    """The values of a config file, and what it chooses of each group; read without Hydra, which takes longer."""
    values: dict[str, Any] = yaml.safe_load((conf_folder() / f"{name}.yaml").read_text(encoding="utf-8"))
    for choice in values.pop("defaults", []):
        if isinstance(choice, dict):
            values |= choice
    return values


if __name__ == "__main__":
    sys.exit(main())
