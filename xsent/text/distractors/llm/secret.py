"""The key of an endpoint: from the environment alone, and never seen again."""

from __future__ import annotations

import json
import os
import re
from urllib.parse import quote, unquote, urlsplit, urlunsplit

MASK = "***"
# Shorter ones are placeholders for servers that want any key ("EMPTY", "ollama"); to mask them would spoil answers.
SHORTEST = 8


class Secrets:
    """What must not be read anywhere, and how to take it out of a text.

    Args:
        values: keys and passwords.
    """

    def __init__(self, *values: str) -> None:
        forms = {
            form
            for value in values
            if len(value) >= SHORTEST
            for form in (value, quote(value, safe=""), json.dumps(value)[1:-1], value.replace("/", "\\/"))
        }
        # The longest first, as one may be the start of another.
        self._any = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True)))) if forms else None

    def masked(self, text: str) -> str:
        """The text with ``***`` for each of them."""
        return text if self._any is None else self._any.sub(MASK, text)


def key_of(name: str | None) -> str | None:
    """The key that an environment variable holds; None where the endpoint wants none.

    Raises:
        ValueError: the variable is not set, or holds what cannot be a key; names it, and not what it holds.
    """
    if name is None:
        return None
    key = os.environ.get(name, "").strip()
    if not key:
        raise ValueError(f"{name} is not set: put the endpoint's key there, or say maker.key_env=null if it wants none")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError(f"{name}: expected a key of visible ASCII characters, found others in it")
    return key


def check_address(base_url: str) -> None:
    """Raise ``ValueError`` unless it is an address such as ``https://host/v1``."""
    try:
        parts = urlsplit(base_url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_address = is_address and parts.port != 0 and not parts.query and not parts.fragment
    except ValueError:  # a port that is no number
        is_address = False
    if not is_address or any(character.isspace() for character in base_url):
        raise ValueError(
            f"maker.base_url={without_credentials(base_url)}: expected http(s)://HOST/PATH without a query, such as"
            " https://api.openai.com/v1"
        )


def without_credentials(base_url: str) -> str:
    """The address without user and password."""
    try:
        parts = urlsplit(base_url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")).rstrip("/")
    except ValueError:  # of a broken address
        return base_url.rpartition("@")[2].partition("?")[0]


def passwords_of(base_url: str) -> list[str]:
    """The password in an address, as it stands there and as it is meant."""
    password = urlsplit(base_url).password
    return [password, unquote(password)] if password else []
