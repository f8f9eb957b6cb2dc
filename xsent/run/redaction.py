"""Mask secrets in the files that Hydra writes before a run."""

from __future__ import annotations

from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf


def mask_hydra_files() -> None:
    """Mask secrets in ``.hydra`` of the run folder, and in ``multirun.yaml`` of a grid.

    Files without secrets stay unchanged. The other processes of a distributed run read the masked files and take
    secrets from the environment.
    """
    if not HydraConfig.initialized():
        return
    hydra = HydraConfig.get()
    if hydra.mode == RunMode.MULTIRUN:
        _mask(Path(hydra.sweep.dir) / "multirun.yaml")
    if hydra.output_subdir is not None:
        for path in sorted((Path(hydra.runtime.output_dir) / hydra.output_subdir).glob("*.yaml")):
            _mask(path)


def _mask(path: Path) -> None:
    from xsent.atomic import write_text
    from xsent.reporting.secrets import redact

    if not path.is_file():
        return
    content = OmegaConf.to_container(OmegaConf.load(path))
    masked = redact(content)
    if masked != content:
        write_text(path, OmegaConf.to_yaml(OmegaConf.create(masked)))
