"""Train: ``python train.py recipe=oracle encoder=labse``; options in ``conf/``, code in ``xsent/run``."""

from __future__ import annotations

import sys

import hydra
from omegaconf import DictConfig

from xsent.run import check_overrides, register_resolvers
from xsent.sweeps.dispatch import train_or_sweep

register_resolvers()


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(cfg: DictConfig) -> float | None:
    """Train, and return the monitored metric for sweeps."""
    return train_or_sweep(cfg)


if __name__ == "__main__":
    try:
        check_overrides("train", sys.argv[1:])
    except ValueError as error:
        sys.exit(str(error))
    main()
