"""Console command ``xsent``: one table of commands, options generated from ``conf/job/*.yaml``.

``COMMANDS`` names the positionals and the arguments that are no config values; ``options`` tells how a key of a
config file becomes an option; ``commands`` and ``text_commands`` have the functions that the commands run. A named
option beats ``--set KEY=VALUE``, which beats the file.
"""

import argparse
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from xsent.cli import commands, text_commands, train
from xsent.cli.command_config import CONTINUES
from xsent.cli.options import HelpFormatter, job_options, settings_help
from xsent.config_checks import suggestion
from xsent.version import __version__

Argument = tuple[str, dict[str, Any]]  # flags or name, e.g. "-o --output", and what argparse needs to know of it


class Command(NamedTuple):
    """A command of ``xsent``."""

    about: str  # one line of ``xsent --help``
    run: Callable[..., Any]  # of the parsed options; of PROGRAMS the arguments
    arguments: Sequence[Argument]
    set_example: str | None  # for the help of --set; None: the command has no config
    exclusive: Collection[str] = ()  # arguments of which one can be given
    interrupted: str = "nothing was written"  # message after Ctrl-C or SIGTERM


class _Parser(argparse.ArgumentParser):
    """Parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        end = "" if message.endswith("?") else "."
        self.exit(2, f"{self.prog}: error: {message}{end} See {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status.

    0: done; 1: failed, with one line on stderr; 2: wrong command line; 130: interrupted; 143: terminated.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in PROGRAMS:
        status: int = COMMANDS[arguments[0]].run(arguments[1:])
        return status
    parser, parsers = build_parsers(COMMANDS.keys() & set(arguments))
    _check_names(parser, parsers, arguments)
    options = parser.parse_args(arguments)
    from xsent.run.errors import run_reporting
    from xsent.run.start import log_to_screen

    log_to_screen()
    run = COMMANDS[options.command].run
    return run_reporting(lambda: run(options), interrupted=lambda: options.interrupted, usage=())


def build_parsers(names: Collection[str]) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of ``xsent`` and those of its commands, with the arguments of the named commands."""
    parser = _Parser(
        prog="xsent",
        usage="xsent [-h] [--version] COMMAND ...",
        description="Train and evaluate multilingual sentence encoders, and use them.",
        epilog=_command_list(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"xsent {__version__}")
    subparsers = parser.add_subparsers(
        prog="xsent", dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS
    )
    parsers: dict[str, argparse.ArgumentParser] = {}
    for name, command in COMMANDS.items():
        parsers[name] = subparsers.add_parser(name, formatter_class=HelpFormatter)
        if name in names:
            _add_arguments(parsers[name], name, command)
    return parser, parsers


def _command_list() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = []
    for title, names in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {name:{width}}{COMMANDS[name].about}" for name in names if name in COMMANDS)]
    return "\n".join([*lines[1:], "", "xsent COMMAND --help explains the options of a command."])


def _add_arguments(parser: argparse.ArgumentParser, name: str, command: Command) -> None:
    continues = " A killed run continues: repeat the command." if command.interrupted == CONTINUES else ""
    parser.description = textwrap.fill(f"{command.about}.{continues}", shutil.get_terminal_size().columns - 2)
    job = name.replace("-", "_")  # its file in conf/job
    options = [] if command.set_example is None else job_options(job)
    parser.set_defaults(job=job, option_keys=[option.key for option in options], interrupted=command.interrupted)
    exclusive = (
        parser.add_mutually_exclusive_group(required="report" in command.exclusive) if command.exclusive else parser
    )
    for flags, settings in command.arguments:
        names = flags.split()
        (exclusive if names[-1].strip("-") in command.exclusive else parser).add_argument(*names, **settings)
    for option in options:
        option.add_to(exclusive if option.key in command.exclusive else parser)
    if command.set_example is not None:
        about = f"change one of the values below, e.g. {command.set_example}; can be repeated"
        parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=about)
        parser.epilog = settings_help(job)


def _check_names(
    parser: argparse.ArgumentParser, parsers: Mapping[str, argparse.ArgumentParser], arguments: Sequence[str]
) -> None:
    """End with status 2 and the nearest name if there is no such command or option."""
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    if name is None:
        return
    if name not in COMMANDS:
        parser.error(f"no command {name!r}{suggestion(name, COMMANDS)}")
    flags = re.findall(r"^  (?:-\w[^-]*, )?(--[a-z][\w-]*)", parsers[name].format_help(), re.MULTILINE)
    for flag in [argument.partition("=")[0] for argument in arguments if re.match("--[a-z]", argument)]:
        if not any(known.startswith(flag) for known in [*flags, "--version"]):
            parsers[name].error(f"no option {flag}{suggestion(flag, set(flags) - {'--help'})}")


# ---- the table of commands


def _text(names: str, metavar: str, about: str, **settings: Any) -> Argument:
    return names, {"metavar": metavar, "help": about, **settings}


_path = partial(_text, type=Path)


def _flag(names: str, about: str) -> Argument:
    return names, {"action": "store_true", "help": about}


def _output(metavar: str, about: str) -> Argument:
    return _path("-o --output", metavar, about, required=True)


SOURCE = _text("source", "ENCODER", "encoder, as of --encoder", nargs="?")
GROUPS = {  # of --help
    "Train and evaluate": ("train", "evaluate", "encoders", "mteb", "compare"),
    "Make encoders": ("transplant", "distill-static"),
    "Vectors and mining": ("encode", "mine"),
    "Make and filter text": ("noise", "augment", "diverge", "distract", "filter"),
    "Share results": ("export",),
}
PROGRAMS = ("train", "evaluate")  # with KEY=VALUE arguments of Hydra and a help of their own
HYDRA = [
    _text("overrides", "KEY=VALUE", "a value of the config", nargs="*"),
    _flag("-m --multirun", "a grid of runs"),
    _text("--cfg", "job", "print the config and run nothing"),
]
COMMANDS = {
    "train": Command("Train an encoder with a recipe, or search for good settings", train.train, HYDRA, None),
    "evaluate": Command("Score an encoder or a trained run on test sets", train.evaluate, HYDRA, None),
    "encode": Command(
        "Write a vector for each line of a text file",
        commands.run_encode,
        [
            _path("source", "TEXT", "sentences, one per line (UTF-8, plain or .gz); - for the standard input"),
            _output("VECTORS", "file.npy, file.safetensors or file.parquet; row i belongs to line i"),
        ],
        "block=1000",
        interrupted=CONTINUES,
    ),
    "mine": Command(
        "Find the translations among the sentences of two files",
        commands.run_mine,
        [
            _path("source", "SOURCE", "source sentences, one per line (UTF-8, plain or .gz)"),
            _path("target", "TARGET", "target sentences, same format; neither file has to fit in memory"),
            _output("FILE", "TSV with a header: score, source line, target line, source, target"),
        ],
        "encoder.path=/models/labse or ivf.probes=128",
        interrupted=CONTINUES,
    ),
    "augment": Command(
        "Make wrong translations for xSIM++ from English sentences",
        text_commands.run_augment,
        [
            _path("source", "ENGLISH", "sentences, one per line (UTF-8, plain or .gz)"),
            _output("PREFIX", "for NAME.dev: writes PREFIX_augmented.dev and PREFIX_errtype.dev.json"),
        ],
        "seed=1",
    ),
    "noise": Command(
        "Make noisy text of clean English: typos, slang, abbreviations",
        text_commands.run_noise,
        [
            _path("source", "IN", "sentences, one per line (UTF-8, plain or .gz)"),
            _output("OUT", "a noisy sentence for each, plain or .gz"),
            _path("--log", "TSV", "file for the noise of each line, e.g. fing,0.025;cont"),
        ],
        "noise.selection=0.2 or noise.parameters.fing.probability=0.1",
    ),
    "diverge": Command(
        "Make translations that differ in meaning, with labelled words",
        text_commands.run_diverge,
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
        interrupted=CONTINUES,
    ),
    "filter": Command(
        "Score translation pairs and mark words that differ in meaning",
        text_commands.run_filter,
        [
            _path(
                "bitext",
                "BITEXT",
                "tab-separated columns, UTF-8, plain or .gz; or with --documents two text files, one per document",
                nargs="+",
            ),
            _flag(
                "--documents",
                "compare whole documents: each row of BITEXT has two, or two text files are one pair",
            ),
            _output("SCORED", "the same rows with score, probability, verdict and divergent words; plain or .gz"),
            _text("--ckpt", "RUN", "trained judge: run folder of recipe=divergence, or a checkpoint of it"),
            _path("--html", "PAGE", "HTML page of sampled pairs with the divergent words marked"),
        ],
        "cosine.word_threshold=0.2 or page.rows=50",
        exclusive=("encoder", "ckpt"),
        interrupted=CONTINUES,
    ),
    "distract": Command(
        "Make near-copies of sentences that mean something else",
        text_commands.run_distract,
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
        "Write an encoder as a folder for sentence-transformers",
        commands.run_export,
        [
            SOURCE,
            _output("FOLDER", "new folder; of a run with heads the meaning embeddings"),
            _path("--language-head", "FOLDER", "another new folder for the language embeddings"),
        ],
        "encoder.path=/models/labse or opset=20",
    ),
    "distill-static": Command(
        "Make a fast static encoder from an encoder's vectors of pieces",
        commands.run_distill_static,
        [SOURCE, _output("FOLDER", "new folder of a static encoder")],
        "sif.text=1e-4 or max_length=256",
        interrupted=CONTINUES,
    ),
    "transplant": Command(
        "Give an encoder the tokenizer of a multilingual static one",
        commands.run_transplant,
        [
            _text(
                "--from",
                "ENCODER",
                "encoder of transformers: a name such as minilm (xsent encoders), or the folder of a model",
                dest="source",
                required=True,
            ),
            _output("FOLDER", "new folder, which every --encoder and sentence-transformers read"),
        ],
        "anchor_count=50",
    ),
    "mteb": Command(
        "Score an encoder on MTEB tasks; finished tasks are kept",
        commands.run_mteb,
        [
            SOURCE,
            _text("--tasks", "TASK", "names of MTEB tasks, and of local ones (--list)", nargs="+", default=[]),
            _path("-o --output", "FOLDER", "results; encoders can share the folder"),
            _flag("--list", "list the local tasks and their data, and exit"),
            _text("--name", "NAME", "name of the model in the results; default: that of the run or the encoder"),
        ],
        "encoder.path=/models/labse",
        interrupted="the same command continues with the task that was under way",
    ),
    "encoders": Command(
        "List the encoders that have a name",
        commands.run_encoders,
        [_text("name", "NAME", "show one in detail", nargs="?")],
        None,
    ),
    "compare": Command(
        "Compare runs on an HTML page: metrics, curves, configs",
        commands.run_compare,
        [
            _path("runs", "RUN", "run folders of train.py or evaluate.py", nargs="+"),
            _output("FILE", "HTML page; replaces the page of an earlier comparison"),
        ],
        None,
    ),
}
