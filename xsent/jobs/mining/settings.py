"""Settings of bitext mining; ``conf/job/mine.yaml`` explains each value and its source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xsent.config_checks import check_choice, check_integer
from xsent.evaluation.search.margin import MARGINS
from xsent.evaluation.search.mining import STRATEGIES


@dataclass(frozen=True)
class IvfOptions:
    """Settings of the inverted file index."""

    cell_size: int  # target sentences per cell, on average
    probes: int  # cells searched per source sentence
    sample: int  # sentences per cell for k-means
    iterations: int
    seed: int


@dataclass(frozen=True)
class MiningOptions:
    """Settings of a mining job.

    Raises:
        ValueError: an unknown margin, strategy or search method, or a count below 1.
    """

    margin: str
    k: int
    strategy: str
    threshold: float | None
    search_method: str
    exact_up_to: int
    ivf: IvfOptions
    shard: int
    block: int

    def __post_init__(self) -> None:
        check_choice("margin", self.margin, tuple(MARGINS))
        check_choice("strategy", self.strategy, tuple(STRATEGIES))
        check_choice("search", self.search_method, ("auto", "exact", "ivf"))
        for name, value in self.shard_settings().items():
            if name not in ("search", "ivf.seed"):
                check_integer(name, value, minimum=1)

    def shard_settings(self) -> dict[str, object]:
        """The settings that the shards depend on; margin, strategy and threshold only matter for the selection."""
        settings = {name: getattr(self, name) for name in ("k", "exact_up_to", "shard", "block")}
        ivf = {f"ivf.{name}": value for name, value in vars(self.ivf).items()}
        return settings | {"search": self.search_method} | ivf


def options_from(config: Mapping[str, Any]) -> MiningOptions:
    """The settings among the keys of ``conf/job/mine.yaml``."""
    if not isinstance(config["ivf"], Mapping):
        raise ValueError(f"ivf={config['ivf']}: expected values such as ivf.probes=...")
    settings = {name: config[name] for name in MiningOptions.__dataclass_fields__}
    return MiningOptions(**settings | {"ivf": IvfOptions(**config["ivf"])})
