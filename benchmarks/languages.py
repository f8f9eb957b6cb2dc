"""Languages of a bundled encoder: training pairs and accuracy of each, the table that ``xsent encoders mini`` prints.

    python -m benchmarks.languages mini [OVERRIDES]

Counts the training data of ``experiment=NAME`` (from the folders below, unless an override names others), evaluates the
encoder on all languages of the Tatoeba and FLORES files under ``XSENT_DATA``, writes the table to
``xsent/assets/NAME/languages.tsv`` and prints it for docs/NAME.md.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import xsent
from xsent.catalogue import LanguageScore, language_file, language_table
from xsent.files.atomic import write_text
from xsent.models.encoders.static import BUNDLED, bundled_folder
from xsent.paths import sha256
from xsent.run import build, load_config, register_resolvers

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data")).resolve()
ROOTS = {"micro": ["bitext"], "mini": ["bitext", "world", "world/other", "world/lexicon"]}
TESTS = {"tatoeba": DATA / "tatoeba", "flores": DATA / "flores200" / "dev"}
PIVOT = "eng"


def training_data(name: str, overrides: Sequence[str]) -> Any:
    """The training data of a bundled encoder, read."""
    register_resolvers()
    roots = ",".join(str(DATA / folder) for folder in ROOTS[name])
    defaults = [f"experiment={name}", f"data.root=[{roots}]", f"run_dir={ROOT / 'runs'}"]
    config = load_config("train", [*defaults, *overrides])
    data = build(config["data"], "data")
    data.read()
    return data


def training_pairs(name: str, overrides: Sequence[str]) -> dict[str, int]:
    """Training pairs of each language but English, of all folders together."""
    data = training_data(name, overrides)
    train = data.splits["train"]
    sides = [np.bincount(side, minlength=len(data.language_codes)) for side in (train.source_lang, train.target_lang)]
    within = np.bincount(train.source_lang[train.source_lang == train.target_lang], minlength=len(data.language_codes))
    counts = dict(zip(data.language_codes, (sum(sides) - within).tolist(), strict=True))
    return {language: pairs for language, pairs in counts.items() if language != PIVOT and pairs}


def accuracies(name: str, test: str) -> dict[str, float]:
    """Percent of the sentences of each language whose nearest English sentence is their translation."""
    metrics = xsent.evaluate(name, test, root=TESTS[test], languages=None)
    prefix, suffix = f"test/{test}/original/", f"-{PIVOT}/accuracy"
    directions = {key[len(prefix) : -len(suffix)]: value for key, value in metrics.items() if key.endswith(suffix)}
    return {language: value for language, value in directions.items() if language != "xx"}


def main() -> None:
    """Write and print the table of an encoder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("name", choices=BUNDLED)
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDES", help="of the training command")
    options = parser.parse_args()
    pairs = training_pairs(options.name, options.overrides)
    scores = {test: accuracies(options.name, test) for test in TESTS}
    rows: list[tuple[str, ...]] = [LanguageScore._fields]
    for language in sorted(pairs.keys() | scores["tatoeba"].keys() | scores["flores"].keys()):
        values = [scores[test].get(language) for test in TESTS]
        cells = ("" if value is None else f"{value:.2f}" for value in values)
        rows.append((language, str(pairs.get(language, 0)), *cells))
    file = language_file(options.name)
    digest = sha256(bundled_folder(options.name) / "vectors.safetensors")
    write_text(file, f"# vectors.safetensors {digest}\n" + "".join("\t".join(row) + "\n" for row in rows))
    print(language_table(file))


if __name__ == "__main__":
    main()
