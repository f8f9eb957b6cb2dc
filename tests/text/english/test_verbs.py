import pytest

from xsent.text.english import verbs


@pytest.mark.parametrize(
    "forms",
    [
        ("stop", "stops", "stopped", "stopped", "stopping"),
        ("visit", "visits", "visited", "visited", "visiting"),
        ("study", "studies", "studied", "studied", "studying"),
        ("play", "plays", "played", "played", "playing"),
        ("lie", "lies", "lay", "lain", "lying"),
        ("go", "goes", "went", "gone", "going"),
        ("have", "has", "had", "had", "having"),
        ("begin", "begins", "began", "begun", "beginning"),
        ("prefer", "prefers", "preferred", "preferred", "preferring"),
        ("agree", "agrees", "agreed", "agreed", "agreeing"),
        ("watch", "watches", "watched", "watched", "watching"),
        ("fix", "fixes", "fixed", "fixed", "fixing"),
        ("rain", "rains", "rained", "rained", "raining"),
    ],
)
def test_forms_are_spelled_by_rule_or_by_list(forms: tuple[str, ...]) -> None:
    assert verbs.forms(forms[0]) == forms


def test_a_form_leads_back_to_its_verb() -> None:
    assert verbs.bases("past")["took"] == "take"
    assert verbs.bases("third")["studies"] == "study"
