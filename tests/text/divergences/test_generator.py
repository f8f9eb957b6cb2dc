from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import OmegaConf

from tests.helpers import ROOT
from tests.test_conf import check_signatures
from tests.text.divergences.helpers import annotated
from xsent.text.divergences import AnnotatedPair, Diverger, to_json
from xsent.text.divergences.json_format import KINDS, Reason
from xsent.text.divergences.substitution import FrequencyRanker

PAIRS = [
    annotated(
        f"The {color} dog and the {animal} go there {when}",
        f"Le chien {color} et le {animal} y vont {when}",
        "0-0 1-2 2-1 3-3 4-4 5-5 6-7 7-6 8-8",
        tags="DT JJ NN CC DT NN VBP RB RB",
        target_tags="D N J C D N P V R",
        heads=[2, 2, 6, 5, 5, 2, -1, 6, 6],
        key=f"{color} {animal} {when}",
    )
    for color in ("red", "blue", "big")
    for animal in ("poodle", "beast", "hound")
    for when in ("now", "today")
]


def composed(option: str, *overrides: str) -> Any:
    with initialize_config_dir(str(ROOT / "conf" / "job" / "diverge"), version_base=None):
        return compose(overrides=[f"+divergences={option}", "+seed=7", *overrides]).divergences


def diverger(folder: Path, *overrides: str, option: str = "default") -> Diverger:
    kinds = f"divergences.kinds=[{','.join(KINDS)}]"
    return instantiate(composed(option, kinds, f"divergences.wordnet.folder={folder}", *overrides))


def diverge(generator: Diverger, pairs: list[AnnotatedPair]) -> dict[str, list[str]]:
    return {result.pair.key: [to_json(record) for record in result.divergences] for result in generator.diverge(pairs)}


@pytest.mark.parametrize("option", ["default", "released"])
def test_the_config_fits_its_classes(option: str) -> None:
    check_signatures({"divergences": OmegaConf.to_container(composed(option), resolve=True)})
    instantiate(composed(option))


def test_every_kind_is_made_and_the_seed_comes_first(wordnet_folder: Path) -> None:
    for result in diverger(wordnet_folder).diverge(PAIRS):
        kinds = [record.kind for record in result.divergences]
        assert kinds[0] == "seed"
        assert kinds[1:] == [kind for kind in KINDS if kind not in result.failures]
        assert {*kinds[1:], *result.failures} == set(KINDS)
        for record in result.divergences:
            assert record.seed == result.pair.key
            assert len(record.source) == len(record.source_labels)
            assert len(record.target) == len(record.target_labels)
        for record in result.divergences[1:]:
            assert (record.source, record.target) != (result.pair.source, result.pair.target)
            assert {*record.source_labels, *record.target_labels} - {"O"}


def test_neither_the_order_of_pairs_nor_other_kinds_nor_parts_matter_but_the_seed(wordnet_folder: Path) -> None:
    everything = diverge(diverger(wordnet_folder), PAIRS)
    assert diverge(diverger(wordnet_folder), PAIRS[::-1]) == everything
    assert diverge(diverger(wordnet_folder, "divergences.seed=8"), PAIRS) != everything
    prepared = diverger(wordnet_folder).with_seeds(PAIRS)
    assert {**diverge(prepared, PAIRS[:5]), **diverge(prepared, PAIRS[5:])} == everything
    only = diverge(diverger(wordnet_folder, "divergences.kinds=[phrase_replacement]"), PAIRS)
    for key, records in only.items():
        assert set(records) <= set(everything[key])


def test_the_released_variant_keeps_one_link_for_each_word(wordnet_folder: Path) -> None:
    pair = annotated("a dog", "u v w", "1-2 1-0", tags="DT NN")
    ranker = FrequencyRanker([("animal", "NN")])
    marks = {}
    for option in ("default", "released"):
        maker = diverger(wordnet_folder, "divergences.kinds=[generalization]", option=option).with_ranker(ranker)
        (result,) = maker.diverge([pair])
        assert result.pair is pair
        marks[option] = result.divergences[1].target_labels
    assert marks == {"default": ("CHA", "O", "CHA"), "released": ("CHA", "O", "O")}


def test_a_seed_without_candidates_is_recorded_with_its_reasons(wordnet_folder: Path) -> None:
    (result,) = diverger(wordnet_folder).diverge([annotated("so be it", "ainsi soit-il", tags="RB VB PRP")])
    assert [record.kind for record in result.divergences] == ["seed"]
    assert result.failures == {
        "subtree_deletion": Reason.TOO_SHORT,
        "phrase_replacement": Reason.TOO_SHORT,
        "generalization": Reason.NO_ELIGIBLE_WORD,
        "particularization": Reason.NO_ELIGIBLE_WORD,
        "uneven": Reason.NO_OTHER_SENTENCE,
        "insert": Reason.NO_OTHER_SENTENCE,
        "span_deletion": Reason.NO_SPAN,
        "word_replacement": Reason.NO_LINKED_WORD,
    }


def test_no_kinds_no_pairs_and_targets_without_tags_are_allowed(
    wordnet_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    list(diverger(wordnet_folder).diverge([*PAIRS, annotated("a b c d", "u v")]))
    assert "1 of 19 pairs have no target tags" in caplog.text
    none = diverger(wordnet_folder, "divergences.kinds=[]")
    assert [len(result.divergences) for result in none.diverge(PAIRS)] == [1] * len(PAIRS)
    assert list(diverger(wordnet_folder).diverge([])) == []


def test_wordnet_is_missed_before_any_work_and_only_where_it_is_needed(tmp_path: Path) -> None:
    pytest.importorskip("nltk")
    with pytest.raises(FileNotFoundError, match=r"WordNet 3\.0"):
        diverger(tmp_path).diverge(PAIRS)
    assert list(diverger(tmp_path, "divergences.kinds=[subtree_deletion]").diverge(PAIRS))


def test_bad_options_and_keys_are_named(wordnet_folder: Path) -> None:
    with pytest.raises(Exception, match=r"divergences\.kinds=\['lexical'\]: expected some of subtree_deletion"):
        diverger(wordnet_folder, "divergences.kinds=[lexical]")
    with pytest.raises(Exception, match=r"divergences\.links=first: expected one of all, last"):
        diverger(wordnet_folder, "divergences.links=first")
    with pytest.raises(ValueError, match="expected pairs with different keys"):
        diverger(wordnet_folder).diverge([PAIRS[0], PAIRS[0]])
