"""Nothing secret in what is logged."""

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


def test_secrets_are_found_at_any_depth_whatever_their_type_and_the_original_stays_as_it_was() -> None:
    config = {"data": [{"auth": {"password": 1234, "user": "ann"}}], "credentials": {"a": "b"}, "token": None}
    expected = {"data": [{"auth": {"password": MASK, "user": "ann"}}], "credentials": MASK, "token": None}
    assert redact(config) == expected
    assert config["credentials"] == {"a": "b"}


def test_a_token_or_login_inside_a_value_is_masked_too() -> None:
    token = "hf_" + "a" * 30
    assert redact(["https://ann:pw@hub.org/x", f"--t={token}", "https://hub.org/a@b"]) == [
        f"https://{MASK}@hub.org/x",
        f"--t={MASK}",
        "https://hub.org/a@b",
    ]


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("postgresql://ann:pa/ss@host/db", "postgresql://***@host/db"),
        ("postgresql://ann:p@ss@host/db", "postgresql://***@host/db"),
        ("postgresql://ann:p@s/s@host/db", "postgresql://***@host/db"),
        ("postgresql://:pw@host", "postgresql://***@host"),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("mysql://host/db?user=ann&password=x&ssl=1", "mysql://host/db?user=ann&password=***&ssl=1"),
        ("none from https://host/v1?api_key=x#top: refused", "none from https://host/v1?api_key=***#top: refused"),
        ("++logger.api_key=a,b", "++logger.api_key=***"),
        ("logger.api_key='a b'", "logger.api_key=***"),
        ("recipe=oracle,logger.api_key=a,b,seed=1", "recipe=oracle,logger.api_key=***,seed=1"),
        ("logger={api_key: x, name: runs}", "logger={api_key: ***, name: runs}"),
        ("logger.api_key=a b&c;d#e", "logger.api_key=***"),
        ("logger={api_key: 'a, b', name: runs}", "logger={api_key: ***, name: runs}"),
        ("refused with token=x by the host", "refused with token=*** by the host"),
        ("logger.api_key=null", "logger.api_key=null"),
        ("logger={api_key: null, name: runs}", "logger={api_key: null, name: runs}"),
        ("data.max_tokens=5", "data.max_tokens=5"),
        ("the words are the key: this", "the words are the key: this"),
    ],
)
def test_a_secret_inside_a_line_is_masked_and_nothing_beside_it(line: str, masked: str) -> None:
    assert redact(line) == masked
