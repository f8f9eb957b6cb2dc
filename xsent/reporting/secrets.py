"""Nothing secret in what is logged."""

from __future__ import annotations

import re
from typing import Any

SECRET = re.compile(r"(^|_)(api_?key|key|token|secret|password|passwd|credentials?)$", re.IGNORECASE)


def redact(value: Any) -> Any:
    """A copy of nested plain values in which whatever is called a key, token or password is masked."""
    if isinstance(value, dict):
        return {
            key: "***" if SECRET.search(str(key)) and isinstance(item, str) else redact(item)
            for key, item in value.items()
        }
    return [redact(item) for item in value] if isinstance(value, list | tuple) else value
