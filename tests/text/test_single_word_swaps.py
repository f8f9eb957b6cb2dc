import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from xsent.text.annotation.annotator import Annotation
from xsent.text.single_word_swaps import (
    Change,
    find_single_token_change,
    split_token,
    swapped_words,
    tag_swaps,
)


class Dictionary:
    """Tags words from a list; a hand-made annotator."""

    def __init__(self, tags: dict[str, str]) -> None:
        self.tags = tags
        self.seen: list[tuple[str, ...]] = []

    def annotate(self, sentences: Sequence[tuple[str, ...]], *, progress: bool) -> list[Annotation]:
        self.seen += sentences
        return [Annotation(tuple(self.tags.get(word, "X") for word in words), ()) for words in sentences]


def test_swaps_are_those_of_the_reference(fixtures_dir: Path) -> None:
    for case in json.loads((fixtures_dir / "clsd.json").read_text())["single_token_swap"]["cases"]:
        change = find_single_token_change(case["a"], case["b"])
        assert (change is not None and change.kind == "swap") == case["is_swap"]
        if change is not None:
            assert change.position == case["position"]


@pytest.mark.parametrize(
    ("original", "changed", "expected"),
    [
        ("Er kommt heute.", "Er geht heute.", Change("swap", 1, "kommt", "geht")),
        ("Er kommt heute.", "Er kommt morgen.", Change("swap", 2, "heute.", "morgen.")),
        ("Er  kommt\theute.", "Er kommt nie.", Change("swap", 2, "heute.", "nie.")),  # white space of any kind
        ("Er kommt heute.", "Er kommt nicht heute.", Change("addition", 2, "", "nicht")),
        ("Er kommt", "Er kommt nicht", Change("addition", 2, "", "nicht")),
        ("Er kommt", "Doch Er kommt", Change("addition", 0, "", "Doch")),
        ("Er kommt nicht", "Er kommt", Change("removal", 2, "nicht", "")),
        ("sehr sehr gut", "sehr gut", Change("removal", 1, "sehr", "")),
        ("Er kommt heute.", "Er kommt heute.", None),
        ("Er kommt heute.", "Sie geht heute.", None),
        ("Er kommt heute.", "Sie kommt nicht heute.", None),
        ("Er kommt", "Er kommt nicht mehr", None),
        ("", "", None),
    ],
)
def test_one_token_is_swapped_added_or_removed(original: str, changed: str, expected: Change | None) -> None:
    assert find_single_token_change(original, changed) == expected


@pytest.mark.parametrize(
    ("token", "language", "parts"),
    [
        ("l'Europe", "fra", ["l'", "Europe"]),
        ("(l’Europe),", "fra", ["(", "l’", "Europe", ")", ","]),
        ("jusqu'à", "fra", ["jusqu'", "à"]),
        ("d'aujourd'hui", "fra", ["d'", "aujourd'hui"]),  # one word of the language
        ("quelqu'un", "fra", ["quelqu'un"]),
        ("dell'arte", "ita", ["dell'", "arte"]),
        ("geht's", "deu", ["geht's"]),
        ("CDU-Fraktion.", "deu", ["CDU-Fraktion", "."]),
        ("0,68", "deu", ["0,68"]),
        ("10%", "fra", ["10", "%"]),
        ('"..."', "deu", ['"..."']),
    ],
)
def test_tokens_are_cut_as_treebanks_have_them(token: str, language: str, parts: list[str]) -> None:
    assert split_token(token, language) == parts


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("gewählt.", "gelernt.", ("gewählt", "gelernt")),
        ("l'Europe", "l'Asie", ("Europe", "Asie")),
        ("l’intérieur", "l'agriculture", ("intérieur", "agriculture")),
        ("d'expression", "l'expression", ("d'", "l'")),
        ("d'accord", "l'entente", ("accord", "entente")),
        ("l'UE", "l'ONU.", ("UE", "ONU")),
        ("l'emploi,", "formation,", ("emploi", "formation")),
        ("clarté.", 'dualité."', ("clarté", "dualité")),
        ("7,2", "72", ("7,2", "72")),
        ("Bretagne,", "Bretagne.", (",", ".")),  # the part that differs may be a sign
    ],
)
def test_the_word_is_found_within_its_token(before: str, after: str, words: tuple[str, str]) -> None:
    assert swapped_words(Change("swap", 0, before, after), "fra") == words


def test_the_tag_is_that_of_the_word_of_the_original_that_differs() -> None:
    pairs = [
        ("Je dis que l'appel, lui, reste.", "Je dis que l'idée, lui, reste."),
        ("Je dis que l'appel, lui, reste.", "Je pense que l'appel, lui, reste."),
        ("Je dis que l'appel, lui, reste.", "Je dis que l'appel lui, reste."),
        ("Elle perd 7,2 points.", "Elle perd 72 points."),
    ]
    tags = {"appel": "NOUN", "dis": "VERB", "l'": "DET", "7,2": "NUM", "idée": "X", "reste": "VERB", "mot": "NOUN"}
    annotator = Dictionary(tags)
    changes = [(original, change) for original, new in pairs if (change := find_single_token_change(original, new))]
    assert tag_swaps(changes, "fra", annotator, progress=False) == ["NOUN", "VERB", "PUNCT", "NUM"]
    assert annotator.seen[0] == ("Je", "dis", "que", "l'", "appel", ",", "lui", ",", "reste", ".")
    # Punctuation that is added to a word is no change of the word.
    changes = [("Elle reste.", Change("swap", 1, "reste.", "reste!")), ("Un mot ici", Change("swap", 1, "mot", "mot,"))]
    assert tag_swaps(changes, "fra", annotator, progress=False) == ["PUNCT", "PUNCT"]
