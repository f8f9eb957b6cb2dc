"""What Hydra writes of a run before it begins, without what is secret."""

from __future__ import annotations

from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf


def mask_hydra_files() -> None:
    """Mask Hydra's records of the run that it has started: ``.hydra`` in its folder, of a grid ``multirun.yaml``.

    They hold config and command line as they were given. A file in which nothing is secret stays as it is, byte for
    byte. The other processes of a distributed run read what is masked: what is secret they take from the environment.
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
    from xsent.reporting.files import write_text
    from xsent.reporting.secrets import redact

    if not path.is_file():
        return
    content = OmegaConf.to_container(OmegaConf.load(path))
    masked = redact(content)
    if masked != content:
        write_text(path, OmegaConf.to_yaml(OmegaConf.create(masked)))
