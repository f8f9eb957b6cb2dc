"""Start what the config of ``train.py`` asks for: a search, a cell of a study, or one run."""

from omegaconf import DictConfig

from xsent.run.compose import mask_hydra_files
from xsent.run.evaluation import silence_libraries
from xsent.run.training import train


def train_or_sweep(cfg: DictConfig) -> float | None:
    """Run the search of ``search``, the cell of ``study``, or else one training.

    Returns:
        The best value of the monitored validation metric.
    """
    if cfg.search is None and cfg.study is None:
        return train(cfg)
    mask_hydra_files()
    silence_libraries()
    if cfg.search is not None:
        from xsent.sweeps.search.search import run_search

        return run_search(cfg)
    from xsent.sweeps.study import run_cell

    return run_cell(cfg)
