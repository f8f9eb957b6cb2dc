"""Packages of an installed xsent."""

import tomllib

import pytest

from tests.helpers import ROOT


def test_every_package_is_installed() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        listed = set(tomllib.load(file)["tool"]["setuptools"]["packages"])
    packages = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "xsent").rglob("__init__.py")}
    assert listed == packages | {"xsent.conf"}


def test_type_information_is_installed() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        data = tomllib.load(file)["tool"]["setuptools"]["package-data"]
    assert "py.typed" in data["xsent"]
    assert (ROOT / "xsent" / "py.typed").is_file()


@pytest.mark.parametrize(("encoder", "megabytes"), [("mini", 26), ("micro", 10)])
def test_a_bundled_encoder_is_as_small_as_the_readme_says(encoder: str, megabytes: int) -> None:
    assert sum(path.stat().st_size for path in (ROOT / "xsent" / "assets" / encoder).iterdir()) < megabytes * 1e6
