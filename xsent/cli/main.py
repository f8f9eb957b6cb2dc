"""Console command ``xsent``: one table of commands, options generated from ``conf/job/*.yaml``.

``COMMANDS`` names the positionals and the arguments that are no config values; ``options`` tells how a key of a
config file becomes an option; ``commands`` has the function that each command runs. A named option beats
``--set KEY=VALUE``, which beats the file.
"""

import argparse
import logging
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from xsent.cli import commands
from xsent.cli.options import job_options

log = logging.getLogger("xsent")


Argument = tuple[str, dict[str, Any]]  # flags or name, e.g. "-o --output", and what argparse needs to know of it


class Command(NamedTuple):
    """A command of ``xsent``."""

    about: str
    run: Callable[[argparse.Namespace], None]
    arguments: Sequence[Argument]
    set_example: str | None  # for the help of --set; None: the command has no config
    exclusive: Collection[str] = ()  # arguments of which one can be given
    interrupted: str = "nothing was written"  # message after Ctrl-C


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status.

    0: done; 1: failed, with one line on stderr; 2: wrong command line; 130: interrupted.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    parser, _ = build_parsers(COMMANDS.keys() & set(arguments))
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S"
    )
    try:
        COMMANDS[options.command].run(options)
    except (ValueError, OSError, ImportError) as error:
        log.error("%s", _format_error(error))
        return 1
    except KeyboardInterrupt:
        log.error("interrupted; %s", options.interrupted)
        return 130
    return 0


def build_parsers(names: Collection[str]) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of ``xsent`` and those of its commands, with the arguments of the named commands."""
    parser = argparse.ArgumentParser(prog="xsent", description="Train and evaluate multilingual sentence encoders.")
    subparsers = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    parsers = {}
    for name, command in COMMANDS.items():
        parsers[name] = subparsers.add_parser(name, help=command.about, description=command.about)
        if name in names:
            _add_arguments(parsers[name], name, command)
    return parser, parsers


def _add_arguments(parser: argparse.ArgumentParser, name: str, command: Command) -> None:
    options = [] if command.set_example is None else job_options(name)
    parser.set_defaults(option_keys=[option.key for option in options], interrupted=command.interrupted)
    exclusive = (
        parser.add_mutually_exclusive_group(required="report" in command.exclusive) if command.exclusive else parser
    )
    for flags, settings in command.arguments:
        names = flags.split()
        (exclusive if names[-1].strip("-") in command.exclusive else parser).add_argument(*names, **settings)
    for option in options:
        option.add_to(exclusive if option.key in command.exclusive else parser)
    if command.set_example is not None:
        about = f"any other value of conf/job/{name}.yaml and its groups, e.g. {command.set_example}"
        parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=about)


def _format_error(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


# ---- the table of commands, in the order of --help


def _text(names: str, metavar: str, about: str, **settings: Any) -> Argument:
    return names, {"metavar": metavar, "help": about, **settings}


_path = partial(_text, type=Path)


def _flag(names: str, about: str) -> Argument:
    return names, {"action": "store_true", "help": about}


def _output(metavar: str, about: str) -> Argument:
    return _path("-o --output", metavar, about, required=True)


COMMANDS = {
    "mine": Command(
        "Find translations among the sentences of two files; a killed run continues.",
        commands.run_mine,
        [
            _path("source", "SOURCE", "source sentences, one per line (UTF-8, plain or .gz)"),
            _path("target", "TARGET", "target sentences, same format; neither file has to fit in memory"),
            _output("FILE", "TSV with a header: score, source line, target line, source, target"),
        ],
        "encoder.path=/models/labse or ivf.probes=128",
        exclusive=("encoder", "ckpt"),
        interrupted=commands.CONTINUES,
    ),
    "augment": Command(
        "Make hard negatives of English sentences for xSIM++: one small change of meaning each.",
        commands.run_augment,
        [
            _path("source", "ENGLISH", "sentences, one per line (UTF-8, plain or .gz)"),
            _output("PREFIX", "for NAME.dev: writes PREFIX_augmented.dev and PREFIX_errtype.dev.json"),
        ],
        "seed=1",
    ),
    "noise": Command(
        "Make user-generated text from clean sentences: typos, abbreviations, slang.",
        commands.run_noise,
        [
            _path("source", "IN", "sentences, one per line (UTF-8, plain or .gz)"),
            _output("OUT", "a noisy sentence for each, plain or .gz"),
            _path("--log", "TSV", "file for the noise of each line, e.g. fing,0.025;cont"),
        ],
        "noise.selection=0.2 or noise.parameters.fing.probability=0.1",
    ),
    "diverge": Command(
        "Make pairs that differ in meaning from clean translations, with labels of the words that differ.",
        commands.run_diverge,
        [
            _path(
                "inputs",
                "IN",
                "tab-separated sentences and translations, plain or .gz; or annotated files, given by folder or prefix:"
                " NAME.en.conllu, NAME.fr.conllu and, unless they are to be aligned, NAME.align",
                nargs="?",
            ),
            _output("OUT", "JSON lines; OUT.summary.json has the counts"),
            _path("--source-conllu", "FILE", "words, tags and parses of the source sentences, instead of IN"),
            _path("--target-conllu", "FILE", "words of the target sentences, instead of IN"),
            _path("--align", "FILE", "word alignments in Pharaoh format, one line per pair, from 0, instead of IN"),
        ],
        "filter.min_distance=0 or annotator.models=/models/stanza",
        interrupted=commands.CONTINUES,
    ),
    "filter": Command(
        "Score the pairs of a bitext for divergence in meaning and tag the divergent words; a killed run continues.",
        commands.run_filter,
        [
            _path("bitext", "BITEXT", "tab-separated columns, UTF-8, plain or .gz"),
            _output("SCORED", "the same rows with score, probability, verdict and divergent words; plain or .gz"),
            _text("--ckpt", "RUN", "run folder of recipe=divergence, or a checkpoint of it", required=True),
            _path("--html", "PAGE", "HTML page of sampled pairs with the divergent words marked"),
        ],
        "sample.random=2000 or page.rows=50",
        interrupted=commands.CONTINUES,
    ),
    "distract": Command(
        "Make near-copies of sentences with another meaning, by rules or by a language model.",
        commands.run_distract,
        [
            _text(
                "inputs",
                "IN",
                "LANG=FILE, one sentence per line (several such files are translations, line by line);"
                " LANG,LANG=FILE, tab-separated columns; FILE.jsonl, an output of this command, whose distractors are"
                " kept; or a released CSV of CLSD; plain or .gz",
                nargs="+",
            ),
            _path(
                "-o --output",
                "OUT",
                "JSON lines, .jsonl or .jsonl.gz; OUT.summary.json has the counts, OUT.failures.tsv the texts without"
                " distractors",
            ),
            _flag("--report", "print how similar the distractors of IN are to their originals; make none"),
            _flag("--dry-run", "llm: print the number of requests and the cost; send nothing"),
        ],
        "maker.concurrency=4",
        exclusive=("output", "report"),
    ),
    "export": Command(
        "Export a trained encoder to a folder for sentence-transformers, checked in a fresh process.",
        commands.run_export,
        [
            _text("trained", "RUN", "run folder or checkpoint file", nargs="?"),
            _output("FOLDER", "new folder; of a run with heads the meaning embeddings"),
            _path("--language-head", "FOLDER", "another new folder for the language embeddings"),
        ],
        "encoder.path=/models/labse or opset=20",
    ),
    "mteb": Command(
        "Score a run or an encoder on MTEB tasks; finished tasks are not computed again.",
        commands.run_mteb,
        [
            _text("ckpt", "RUN", "run folder or checkpoint file", nargs="?"),
            _text("--tasks", "TASK", "names of MTEB tasks, and of local ones (--list)", nargs="+", default=[]),
            _path("-o --output", "FOLDER", "results; encoders can share the folder"),
            _flag("--list", "list the local tasks and their data, and exit"),
            _text("--name", "NAME", "name of the model in the results; default: that of the run or the encoder"),
        ],
        "encoder.path=/models/labse",
        interrupted="the same command continues with the task that was under way",
    ),
    "compare": Command(
        "Compare runs: metrics with their differences from the first run, curves, plots and config differences.",
        commands.run_compare,
        [
            _path("runs", "RUN", "run folders of train.py or evaluate.py", nargs="+"),
            _output("FILE", "HTML page; replaces the page of an earlier comparison"),
        ],
        None,
    ),
}
