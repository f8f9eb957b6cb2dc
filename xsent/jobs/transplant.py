"""Transplant job: write a transformer with the tokenizer of a static encoder as a folder for sentence-transformers."""

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from xsent.config_checks import check_integer, check_number, check_positive
from xsent.data.readers.lines import valid_lines
from xsent.files.atomic import atomic_folder
from xsent.jobs.checks import check_input
from xsent.jobs.export.export import check_targets
from xsent.models.model_files import make_readable, write_sums
from xsent.models.transplant.transplant import (
    TransplantOptions,
    TransplantReport,
    check_source,
    check_static,
    transplant,
)

log = logging.getLogger(__name__)


def options_from(config: Mapping[str, Any]) -> TransplantOptions:
    """The settings among the keys of ``conf/job/transplant.yaml``.

    Raises:
        ValueError: a value of another type or out of range.
    """
    options = TransplantOptions(**{name: config[name] for name in TransplantOptions._fields})
    for name in ("neighbours", "min_count", "anchor_count"):
        check_integer(name, getattr(options, name), minimum=1)
    check_positive("temperature", options.temperature)
    if options.norm is not None:
        check_positive("norm", options.norm)
    check_number("min_ratio", options.min_ratio)
    check_number("anchor_ratio", options.anchor_ratio)
    return options


def transplant_encoder(
    source: str,
    tokenizer: str,
    output: Path,
    *,
    load: Callable[[str], object],
    text: Path | None,
    options: TransplantOptions,
) -> TransplantReport:
    """Write the folder, which appears when it is complete; ``transplant`` explains the method.

    Args:
        source, tokenizer: names or folders of the transformer and of the static encoder.
        output: new folder.
        load: gives the encoder of a name or folder.
        text: sentences in the language of ``source``, one per line; None: none.

    Raises:
        ValueError: an encoder of the wrong kind, no common pieces, or a missing special token.
        FileNotFoundError: no such encoder or text.
        OSError: the folder is not empty, or cannot be written.
    """
    check_targets([output])
    if text is not None:
        check_input(text)
    start = time.perf_counter()
    pieces, static = check_static(load(tokenizer), tokenizer)
    encoder = check_source(load(source), source)
    texts = None if text is None else valid_lines(text, str(text), "every line counts")
    transplanted, report = transplant(encoder, pieces, static, texts=texts, options=options)
    with atomic_folder(output) as folder:
        transplanted.save(folder)
        write_sums(folder)
        make_readable(folder)
    log.info(f"{output}: {source} with the tokenizer of {tokenizer}: {report}; {time.perf_counter() - start:.0f} s")
    return report
