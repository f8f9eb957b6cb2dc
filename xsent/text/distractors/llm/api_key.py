"""API key of an endpoint: read from the environment, and masked in every text."""

import json
import os
import re
from urllib.parse import quote, unquote, urlsplit, urlunsplit

MASK = "***"
# Shorter keys are placeholders of local servers ("EMPTY", "ollama"); masking them would damage answers.
MIN_LENGTH = 8


class Secrets:
    """Masks keys and passwords in texts."""

    def __init__(self, *values: str) -> None:
        forms = {
            form
            for value in values
            if len(value) >= MIN_LENGTH
            for form in (value, quote(value, safe=""), json.dumps(value)[1:-1], value.replace("/", "\\/"))
        }
        # The longest first, as one may be a prefix of another.
        self._pattern = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True)))) if forms else None

    def mask(self, text: str) -> str:
        """The text with ``***`` in place of each secret."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)


def read_key(name: str | None) -> str | None:
    """The key in an environment variable; None without a variable.

    Raises:
        ValueError: the variable is not set or holds no valid key; the message names the variable, not its value.
    """
    if name is None:
        return None
    key = os.environ.get(name, "").strip()
    if not key:
        raise ValueError(f"{name} is not set: set it to the endpoint's key, or set maker.key_env=null if it needs none")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError(f"{name}: expected a key of visible ASCII characters, found others")
    return key


def check_address(base_url: str) -> None:
    """Raise ``ValueError`` unless the address is one such as ``https://host/v1``."""
    try:
        parts = urlsplit(base_url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_address = is_address and parts.port != 0 and not parts.query and not parts.fragment
    except ValueError:  # the port is not a number
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
    except ValueError:  # malformed address
        return base_url.rpartition("@")[2].partition("?")[0]


def passwords_of(base_url: str) -> list[str]:
    """The password in an address, quoted and unquoted."""
    password = urlsplit(base_url).password
    return [password, unquote(password)] if password else []
