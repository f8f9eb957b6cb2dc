import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.text.divergences.helpers import annotated
from xsent.text.divergences import from_json, to_json
from xsent.text.divergences.json_format import Divergence, seed_record

RECORD = Divergence(
    seed="s1",
    kind="generalization",
    side="source",
    source=("A", "beast", '"', "barks"),
    target=("Un", "chien", "aboie"),
    source_labels=("O", "CHA", "O", "O"),
    target_labels=("O", "CHA", "O"),
    note="dog > beast",
    origin="books",
)


def test_a_json_line_is_readable_and_parses_to_the_record() -> None:
    line = to_json(RECORD._replace(target=("Été", "chien", "aboie")))
    assert "\n" not in line
    assert json.loads(line) == {
        "seed": "s1",
        "kind": "generalization",
        "side": "source",
        "source": 'A beast " barks',
        "target": "Été chien aboie",
        "source_labels": "O CHA O O",
        "target_labels": "O CHA O",
        "note": "dog > beast",
        "origin": "books",
    }
    assert "Été" in line
    assert from_json(to_json(RECORD), "f:1") == RECORD


def test_a_seed_has_all_labels_o() -> None:
    record = seed_record(annotated("a b", "u v w"))
    assert record == Divergence("a", "seed", "", ("a", "b"), ("u", "v", "w"), ("O",) * 2, ("O",) * 3, "", "test")
    assert from_json(to_json(record), "f:1") == record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda values: values.pop("note"), "expected an object of seed, kind,"),
        (lambda values: values.update(more=""), "expected an object of seed, kind,"),
        (lambda values: values.update(note=3), "expected text for note, found 3"),
        (lambda values: values.update(kind="lexical"), "expected kind of 'seed', 'subtree_deletion'.*found 'lexical'"),
        (lambda values: values.update(side="left"), "expected side of '', 'source', 'target', found 'left'"),
        (lambda values: values.update(target=""), "expected target words with single spaces between them, found ''"),
        (lambda values: values.update(source="a  b c"), "expected source words with single spaces"),
        (lambda values: values.update(target_labels="O O"), "expected 3 target_labels, one for each word, found 2"),
        (lambda values: values.update(target_labels="O O D"), "expected target_labels of 'O', 'CHA', 'ADD', found 'D'"),
    ],
)
def test_a_line_that_is_no_record_is_named(change: Callable[[dict[str, Any]], object], message: str) -> None:
    values = json.loads(to_json(RECORD))
    change(values)
    with pytest.raises(ValueError, match=f"^some.jsonl:4: {message}"):
        from_json(json.dumps(values), "some.jsonl:4")


def test_a_line_without_an_object_is_an_error() -> None:
    for line in ("", "{", "[1]", "3"):
        with pytest.raises(ValueError, match=r"^f:2: expected a"):
            from_json(line, "f:2")
