"""``python evaluate.py encoder=mini evaluator=tatoeba evaluator.root=...``, or ``ckpt=runs/oracle/<time>``."""

from __future__ import annotations

import hydra
from omegaconf import DictConfig

from xsent.run import evaluate as evaluate_run
from xsent.run import register_resolvers

register_resolvers()


@hydra.main(version_base="1.3", config_path="conf", config_name="evaluate")
def main(cfg: DictConfig) -> None:
    """Score an encoder, or what a run learned."""
    evaluate_run(cfg)


if __name__ == "__main__":
    main()
