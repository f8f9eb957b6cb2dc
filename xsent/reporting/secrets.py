"""Nothing secret in what is logged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"
# The last word of a name decides: `hf_token` and `api-key` are secret, `token_budget` and `max_tokens` are not.
NAME = re.compile(r"(^|[_\-. ])(api_?keys?|key|token|secrets?|passwords?|passwd|pwd|credentials?)$", re.IGNORECASE)
# `apiKey`, `accessToken`
CAMEL = re.compile(r"[a-z](Key|Token|Secret|Password|Credentials?)$")
# Tokens of Hugging Face, OpenAI and GitHub, and the user part of an address, wherever they stand.
VALUE = re.compile(r"\b(hf_|sk-|gh[pousr]_|github_pat_)[A-Za-z0-9_\-]{16,}|(?<=://)[^/\s@]+(?=@)")


def redact(value: Any) -> Any:
    """A copy of nested plain values with ``***`` in place of what looks like a key, token or password.

    Whatever stands under such a name is masked as a whole, a number or a mapping too; None stays, as it
    tells that none was given.
    """
    if isinstance(value, Mapping):
        return {
            name: MASK if item is not None and _is_secret(str(name)) else redact(item) for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return VALUE.sub(MASK, value) if isinstance(value, str) else value


def _is_secret(name: str) -> bool:
    return bool(NAME.search(name) or CAMEL.search(name))
