"""``python train.py recipe=oracle encoder=labse``: everything is in ``conf/`` and ``xsent/run.py``."""

from __future__ import annotations

import hydra
from omegaconf import DictConfig

from xsent.run import register_resolvers, train

register_resolvers()


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(cfg: DictConfig) -> float | None:
    """Train, and return the monitored metric for sweeps."""
    return train(cfg)


if __name__ == "__main__":
    main()
