"""Compose configs with Hydra, build their objects, train and evaluate."""

from xsent.catalogue import encoders
from xsent.run.config.build import build
from xsent.run.config.compose import load_config, register_resolvers
from xsent.run.config.overrides import check_overrides
from xsent.run.config.registry import check_targets
from xsent.run.evaluation import evaluate
from xsent.run.loading import load_encoder, load_judge
from xsent.run.pairs import mine, score
from xsent.run.training import train

__all__ = [
    "build",
    "check_overrides",
    "check_targets",
    "encoders",
    "evaluate",
    "load_config",
    "load_encoder",
    "load_judge",
    "mine",
    "register_resolvers",
    "score",
    "train",
]
