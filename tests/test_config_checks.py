"""Texts of error messages about config values."""

import pytest

from xsent.config_checks import suggestion


@pytest.mark.parametrize(
    ("name", "expected"),
    [("orcale", "; did you mean oracle?"), ("LaBSE", "; did you mean labse?"), ("xyz", ""), ("", "")],
)
def test_a_suggestion_names_the_nearest_choice_or_nothing(name: str, expected: str) -> None:
    assert suggestion(name, ["oracle", "labse", "dream"]) == expected
