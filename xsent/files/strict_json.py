"""JSON as RFC 8259 defines it: duplicate keys, NaN, half characters and excessive nesting or numbers are errors."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

MAX_DEPTH = 100  # of lists and objects in each other; Python's own limit depends on who calls


def parse_json(text: str, *, allow_nan: bool = False) -> Any:
    """Value of a JSON text; ``allow_nan`` takes NaN and infinity, which Python writes.

    Raises:
        ValueError: not JSON (``json.JSONDecodeError``, which has the line), a key twice in an object, NaN or infinity,
            a number of more than 4,300 digits, half a surrogate pair, or more than ``MAX_DEPTH`` levels.
    """
    try:
        value = (_NAN_DECODER if allow_nan else _DECODER).decode(text)
    except RecursionError:
        raise ValueError(f"more than {MAX_DEPTH} levels of lists and objects") from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # of a long number, Python's message ends in advice for programmers
        raise ValueError(str(error).partition("; use sys.")[0]) from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(value):
        raise ValueError(f"more than {MAX_DEPTH} levels of lists and objects")
    if ("\\ud" in text or "\\uD" in text) and not _is_encodable(value):
        raise ValueError("half a surrogate pair")
    return value


def read_json(path: Path, *, allow_nan: bool = False) -> Any:
    """Content of a JSON file in UTF-8, as ``parse_json`` reads it.

    Raises:
        ValueError: it is not; names the file and, where known, the line.
    """
    try:
        return parse_json(path.read_text(encoding="utf-8"), allow_nan=allow_nan)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: expected JSON, found {error.msg}") from error
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, found {error}") from error


def read_json_object(path: Path, *, allow_nan: bool = False) -> dict[str, Any]:
    """The object in a JSON file; ``ValueError`` as in ``read_json``, and for any other value."""
    content = read_json(path, allow_nan=allow_nan)
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected a JSON object, found {str(content)[:80]}")
    return content


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)[:60]!r} twice")
    return content


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant}, which is no JSON")


def _is_deep(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        children = (item.values() if isinstance(item, dict) else item for item in level)
        level = [child for items in children for child in items if isinstance(child, dict | list)]
    return bool(level)


def _is_encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


_NAN_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)
