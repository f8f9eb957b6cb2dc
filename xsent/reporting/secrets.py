"""Nothing secret in what is logged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"
# The last word of a name decides: `hf_token` and `api-key` are secret, `token_budget` and `max_tokens` are not.
WORDS = "(?:api_?keys?|key|token|secrets?|passwords?|passwd|pwd|credentials?)"
NAME = re.compile(rf"(?:^|[_\-. ]){WORDS}$", re.IGNORECASE)
# `apiKey`, `accessToken`
CAMEL = re.compile(r"[a-z](?:Key|Token|Secret|Password|Credentials?)$")
# Tokens of Hugging Face, OpenAI and GitHub, wherever they stand, and the user part of an address. A password may hold
# what an address may not: of `user:password`, unless that is a host and its port, all to the last @ goes.
VALUE = re.compile(
    r"\b(hf_|sk-|gh[pousr]_|github_pat_)[A-Za-z0-9_\-]{16,}"
    r"|(?<=://)[^/\s:@]*:(?!\d+(/|$))\S+(?=@)"
    r"|(?<=://)[^/\s@]+(?=@)"
)
# A name within a line that gives it a value; null stays, as it tells that none was given.
WITHIN = rf"(?:[\w./@\-]{{0,200}}[_\-.])?{WORDS}"
INSIDE = [
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # Of an override all that is behind it, up to another: Hydra also writes `recipe=oracle,api_key=x,seed=1`.
        rf"((?:^|,)\s*[+~]*{WITHIN}=)(?!(?:null|none)(?:,|$))(?:(?!,\s*[+~]*[\w./@\-]+=).)+",
        # `{token: x}`, which an override may give, too.
        rf"([{{,]\s*{WITHIN}\s*:(?!\s*(?:null|none)\b)\s*)(?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^,}}]+)",
        # The query of an address, or a word of a message.
        rf"(?<![\w./@\-])({WITHIN}=)(?!(?:null|none)\b)[^\s&;#,]+",
    )
]


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
    return _redact_line(value) if isinstance(value, str) else value


def _redact_line(line: str) -> str:
    line = VALUE.sub(MASK, line)
    for pattern in INSIDE:
        line = pattern.sub(rf"\g<1>{MASK}", line)
    return line


def _is_secret(name: str) -> bool:
    return bool(NAME.search(name) or CAMEL.search(name))
