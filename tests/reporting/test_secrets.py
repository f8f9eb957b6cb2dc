"""Nothing secret in what is logged."""

from __future__ import annotations

import pytest

from xsent.reporting.secrets import MASK, redact


@pytest.mark.parametrize(
    "name",
    [
        "token",
        "hf_token",
        "WANDB_API_KEY",
        "api-key",
        "apiKey",
        "accessToken",
        "secret",
        "client_secret",
        "db.password",
    ],
)
def test_what_is_named_like_a_secret_is_masked(name: str) -> None:
    assert redact({name: "abc"}) == {name: MASK}


@pytest.mark.parametrize("name", ["token_budget", "max_tokens", "tokenizer", "monkey", "keys_file", "secretary"])
def test_what_only_sounds_like_one_is_not(name: str) -> None:
    assert redact({name: 512}) == {name: 512}


def test_secrets_are_found_at_any_depth_whatever_their_type() -> None:
    config = {"data": [{"auth": {"password": 1234, "user": "ann"}}], "credentials": {"a": "b"}, "token": None}
    expected = {"data": [{"auth": {"password": MASK, "user": "ann"}}], "credentials": MASK, "token": None}
    assert redact(config) == expected


def test_a_token_or_login_inside_a_value_is_masked_too() -> None:
    token = "hf_" + "a" * 30
    assert redact(["https://ann:pw@hub.org/x", f"--t={token}", "https://hub.org/a@b"]) == [
        f"https://{MASK}@hub.org/x",
        f"--t={MASK}",
        "https://hub.org/a@b",
    ]


def test_the_original_stays_as_it_was() -> None:
    config = {"a": {"token": "x"}}
    redact(config)
    assert config == {"a": {"token": "x"}}
