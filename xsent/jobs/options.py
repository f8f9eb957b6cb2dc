"""What ``xsent mine`` can be told; ``conf/mine.yaml`` says what each value means and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xsent.evaluation.margin import MARGINS
from xsent.evaluation.mining import STRATEGIES

SEARCHES = ("auto", "exact", "cells")


@dataclass(frozen=True)
class CellOptions:
    """How the space is divided, and how much of it is searched."""

    size: int  # target sentences per cell, on average
    probes: int  # cells that a source looks into
    sample: int  # sentences per cell that k-means sees
    iterations: int
    seed: int


@dataclass(frozen=True)
class MiningOptions:
    """What is mined and how; ``conf/mine.yaml`` says what each means.

    Raises:
        ValueError: an unknown margin, strategy or search, or what should be a number of at least 1 is none.
    """

    margin: str
    k: int
    strategy: str
    threshold: float | None
    search: str
    exact_up_to: int
    cells: CellOptions
    shard: int
    block: int

    def __post_init__(self) -> None:
        for option, value, known in [
            ("margin", self.margin, MARGINS),
            ("strategy", self.strategy, STRATEGIES),
            ("search", self.search, SEARCHES),
        ]:
            if value not in known:
                raise ValueError(f"{option} {value!r}: expected one of {', '.join(known)}")
        counts = {"k": self.k, "exact_up_to": self.exact_up_to, "shard": self.shard, "block": self.block}
        counts |= {f"cells.{name}": value for name, value in vars(self.cells).items() if name != "seed"}
        for option, count in counts.items():
            if not isinstance(count, int) or count < 1:
                raise ValueError(f"{option}={count}: expected a whole number, at least 1")

    def of_shards(self) -> dict[str, object]:
        """What decides the shards of a search; margin, strategy and threshold only matter after it."""
        return {
            "k": self.k, "search": self.search, "exact_up_to": self.exact_up_to, "shard": self.shard,
            "block": self.block, **{f"cells.{name}": value for name, value in vars(self.cells).items()},
        }  # fmt: skip


def options_from(config: Mapping[str, Any]) -> MiningOptions:
    """The options among the keys of ``conf/mine.yaml``."""
    names = MiningOptions.__dataclass_fields__.keys() - {"cells"}
    if not isinstance(config["cells"], Mapping):
        raise ValueError(f"cells={config['cells']}: expected values such as cells.probes=...")
    return MiningOptions(**{name: config[name] for name in names}, cells=CellOptions(**config["cells"]))
