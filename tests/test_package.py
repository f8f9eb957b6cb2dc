"""Packages of an installed xsent."""

import tomllib

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
