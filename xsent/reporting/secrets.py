"""Mask keys, tokens and passwords in values that are logged or written."""

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"
# The last word of a name decides: `hf_token` and `api-key` are secret, `token_budget` and `max_tokens` are not.
WORDS = "(?:api_?keys?|key|token|secrets?|passwords?|passwd|pwd|credentials?)"
NAME = re.compile(rf"(?:^|[_\-. ]){WORDS}$", re.IGNORECASE)
# `apiKey`, `accessToken`
CAMEL = re.compile(r"[a-z](?:Key|Token|Secret|Password|Credentials?)$")
# Tokens of Hugging Face, OpenAI and GitHub anywhere, and the user part of a URL. A password may contain characters
# that a URL may not, so all of `user:password` up to the last @ is masked, unless it is a host and its port.
VALUE = re.compile(
    r"\b(hf_|sk-|gh[pousr]_|github_pat_)[A-Za-z0-9_\-]{16,}"
    r"|(?<=://)[^/\s:@]*:(?!\d+(/|$))\S+(?=@)"
    r"|(?<=://)[^/\s@]+(?=@)"
)
# Names with a value within a line. null stays: no secret was given.
WITHIN = rf"(?:[\w./@\-]{{0,200}}[_\-.])?{WORDS}"
INSIDE = [
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # The value of an override, up to the next override: Hydra also writes `recipe=oracle,api_key=x,seed=1`.
        rf"((?:^|,)\s*[+~]*{WITHIN}=)(?!(?:null|none)(?:,|$))(?:(?!,\s*[+~]*[\w./@\-]+=).)+",
        # Mapping within an override: `{token: x}`.
        rf"([{{,]\s*{WITHIN}\s*:(?!\s*(?:null|none)\b)\s*)(?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^,}}]+)",
        # Query of a URL, or word of a message.
        rf"(?<![\w./@\-])({WITHIN}=)(?!(?:null|none)\b)(?:'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{{[^}}]*\}}|[^\s&;#,]+)",
    )
]


def redact(value: Any) -> Any:
    """Copy nested plain values with ``***`` in place of keys, tokens and passwords.

    The whole value under such a name is masked, including numbers and mappings; None stays.
    """
    if isinstance(value, Mapping):
        return {
            redact(name): MASK if item is not None and _is_secret(str(name)) else redact(item)
            for name, item in value.items()
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
