import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.text.divergences.helpers import annotated
from xsent.text.divergences.annotated_pair import SOURCE, TARGET, check_pair, keep_last_links
from xsent.text.divergences.conllu import parse_links


def test_a_word_has_all_its_links_or_in_the_released_variant_the_last(fixtures_dir: Path) -> None:
    fixture = json.loads((fixtures_dir / "word_alignment.json").read_text(encoding="utf-8"))["alignment_map"]
    links = " ".join(
        "-".join(reversed(link.split("-")))
        for link in fixture["links(foreign-english order as the released pipeline reads them)"]
    )
    pair = annotated("a b c d", "u v w x y", links)
    assert {str(at): sorted(pair.aligned(SOURCE, [at])) for at in range(4)} == fixture["recommended_multimap"]
    last = keep_last_links(pair)
    released = fixture["released_dict_english_to_foreign(last link wins)"]
    assert {str(at): last.aligned(SOURCE, [at]) for at in range(4)} == {at: {to} for at, to in released.items()}


def test_links_are_followed_both_ways() -> None:
    pair = annotated("a b c", "u v", "2-0 0-0 0-0")
    assert pair.aligned(TARGET, [0]) == {0, 2}
    assert pair.aligned(SOURCE, [0, 2]) == {0}
    assert pair.aligned(SOURCE, [1]) == pair.aligned(TARGET, [1]) == set()


GOOD = annotated("a b c", "u v", "0-0 2-1", heads=[1, -1, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": ()}, "expected words on the source side, found none"),
        ({"target": ("u", "")}, "expected a word without white space, found '', target word 2"),
        ({"source": ("a", "10\u00a0000", "c")}, r"found '10\\xa0000', source word 2"),
        ({"tags": ("X",)}, "expected 3 tags, one for each source word, found 1"),
        ({"heads": (1, -1)}, "expected 3 heads, one for each source word, found 2"),
        ({"target_tags": ("X",)}, "expected 2 tags, one for each target word, found 1"),
        ({"heads": (-1, -1, 1)}, r"expected one root, found 2, words \[1, 2\]"),
        ({"heads": (1, 2, 0)}, "expected one root, found 0"),
        ({"heads": (1, 0, -1)}, "expected a tree, found a cycle above word 1"),
        ({"heads": (1, -1, 3)}, "expected heads from 1 to 3, found 4 at word 3"),
        ({"heads": (1, -1, -2)}, "expected heads from 1 to 3, found -1 at word 3"),
        ({"links": ((0, 2),)}, "expected links from 0-0 to 2-1, found 0-2"),
        ({"links": ((-1, 0),)}, "expected links from 0-0 to 2-1, found -1-0"),
    ],
)
def test_annotation_that_does_not_fit_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^some.conllu:7: .*{message}"):
        check_pair(replace(GOOD, **change), "some.conllu:7")


def test_links_are_parsed_in_order_and_an_invalid_one_is_reported_with_its_line() -> None:
    assert parse_links(" 2-1 0-0\t1-1 ", "f:1") == ((2, 1), (0, 0), (1, 1))
    assert parse_links("", "f:1") == ()
    for text in ("0:1", "0_0", "1-", "-1-2", "1-2-3", "1p2", "²-1"):
        with pytest.raises(ValueError, match=r"^f:3: expected links as 0-3, source-target, found"):
            parse_links(f"0-0 {text}", "f:3")
