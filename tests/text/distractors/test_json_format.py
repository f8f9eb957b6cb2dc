import json

import pytest

from xsent.text.distractors.json_format import DistractorRow, from_json, to_json

ROW = DistractorRow(
    "7", {"deu": "Er kommt.", "fra": "Il vient."}, {"deu": ("Er geht.", "Sie kommt.")}, {"deu": ("verb", "person")}
)


def test_a_row_is_a_line_that_a_person_can_read() -> None:
    line = to_json(ROW)
    assert line == (
        '{"id": "7", "texts": {"deu": "Er kommt.", "fra": "Il vient."}, "distractors": {"deu": ["Er geht.",'
        ' "Sie kommt."]}, "notes": {"deu": ["verb", "person"]}}'
    )
    assert from_json(line, "here", distinct=True) == ROW


def test_distractors_and_notes_may_be_absent() -> None:
    row = DistractorRow("a", {"deu": "Ü\u2028b"}, {}, {})
    assert from_json(to_json(row), "here", distinct=True) == row
    assert "\n" not in to_json(row)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"texts": {}}, r"f:3: expected a text in at least one language"),
        ({"texts": ["Er kommt."]}, r"f:3: expected texts by language, found \["),
        ({"texts": {"deu": " "}}, r"f:3: the text in deu: expected text, found ' '"),
        (
            {"distractors": {"spa": ["a"]}},
            r"f:3: expected distractors of one of the texts \(deu, fra\), found some in spa",
        ),
        ({"distractors": {"deu": []}}, r"f:3: expected a list of distractors in deu, found \[\]"),
        ({"distractors": {"deu": "Er geht."}}, r"f:3: expected a list of distractors in deu, found 'Er geht\.'"),
        ({"distractors": {"deu": ["Er kommt."]}}, r"f:3: distractor 1 in deu equals the text itself: 'Er kommt\.'"),
        ({"distractors": {"deu": ["Er geht.", "Er geht."]}}, r"f:3: expected different distractors in deu"),
        ({"distractors": {"deu": ["Er geht.", 5]}}, r"f:3: distractor 2 in deu: expected text, found 5"),
        ({"notes": {"deu": ["verb"]}}, r"f:3: notes in deu: expected one for each of 2 distractors, found \['verb'\]"),
        ({"notes": {"fra": []}}, r"f:3: expected notes of one of the distractors \(deu\), found some in fra"),
        ({"distractors": {}}, r"f:3: expected notes of one of the distractors \(none\), found some in deu"),
        ({"note": {}}, r"f:3: expected a JSON object with id and texts"),
    ],
)
def test_a_row_of_another_form_is_an_error_with_its_place(changed: dict[str, object], message: str) -> None:
    line = json.dumps(json.loads(to_json(ROW)) | changed)
    with pytest.raises(ValueError, match=message):
        from_json(line, "f:3", distinct=True)


def test_distractors_may_be_equal_where_that_is_said_and_nothing_else_is_let_through() -> None:
    equal = ("Er kommt.", "Er geht.", "Er geht.")
    row = ROW._replace(distractors={"deu": equal}, notes={"deu": ("a", "b", "c")})
    assert from_json(to_json(row), "f:3", distinct=False) == row
    for distractors in ([], [" "], "Er geht."):
        with pytest.raises(ValueError, match=r"f:3: .*expected .* found"):
            from_json(json.dumps(row._asdict() | {"distractors": {"deu": distractors}}), "f:3", distinct=False)


@pytest.mark.parametrize("line", ["", "[]", '{"id": "7"', '{"id": "7"}'])
def test_what_is_no_row_is_an_error_with_its_place(line: str) -> None:
    with pytest.raises(ValueError, match="f:3: expected a JSON object"):
        from_json(line, "f:3", distinct=True)
