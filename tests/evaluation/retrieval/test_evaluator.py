"""Retrieval evaluator: averages, missing languages, small pools, published lists of languages."""

from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from tests.evaluation.builders import builder
from tests.helpers import ROOT
from xsent.data.readers.tatoeba import TestBitext, read_tatoeba
from xsent.evaluation.retrieval.evaluator import RetrievalEvaluator
from xsent.languages import to_iso639_3

make_evaluator = builder(
    RetrievalEvaluator, name="tatoeba", metric="accuracy", margin="absolute", k=1, candidates="knn", comparison="index"
)


# Both German sentences find their translation; the nearest sentence of "one" and "two" is "eins".
VECTORS = {"eins": (1.0, 0.2), "zwei": (0.0, 1.0), "one": (1.0, 0.0), "two": (0.8, 0.6)}
VECTORS |= {"un": (1.0, 0.1), "deux": (0.7, 0.7)}
GERMAN = TestBitext("deu-eng", "deu", "eng", ["eins", "zwei"], ["one", "two"])
FRENCH = TestBitext("eng-fra", "eng", "fra", ["one", "two"], ["un", "deux"])
GERMAN_FRENCH = TestBitext("deu-fra", "deu", "fra", ["eins", "zwei"], ["un", "deux"])


def score(*bitexts: TestBitext, **changes: Any) -> dict[str, float]:
    evaluator = make_evaluator(*bitexts, **changes)
    return evaluator(lambda sentences: torch.tensor([VECTORS[text] for text in sentences]))


def test_english_queries_and_english_pools_have_separate_averages() -> None:
    metrics = score(GERMAN, FRENCH)
    assert metrics["tatoeba/deu-eng/accuracy"] == 100
    assert metrics["tatoeba/eng-deu/accuracy"] == 50
    assert metrics["tatoeba/eng-fra/accuracy"] == metrics["tatoeba/fra-eng/accuracy"] == 100
    assert metrics["tatoeba/eng-xx/accuracy"] == 75
    assert metrics["tatoeba/xx-eng/accuracy"] == 100
    assert metrics["tatoeba/mean/accuracy"] == 87.5


def test_an_average_of_errors_pools_the_sentences_of_its_directions() -> None:
    longer = TestBitext("fra-eng", "fra", "eng", ["un", "deux", "zwei"], ["one", "two", "zwei"])
    metrics = score(GERMAN, longer, metric="error")
    assert metrics["tatoeba/eng-xx/error"] == pytest.approx(100 * 1 / 5)
    assert metrics["tatoeba/xx-eng/error"] == 0
    assert metrics["tatoeba/mean/error"] == pytest.approx(100 * 1 / 10)


def test_without_english_there_are_no_averages_by_direction() -> None:
    assert not {"tatoeba/eng-xx/accuracy", "tatoeba/xx-eng/accuracy"} & set(score(GERMAN_FRENCH))


@pytest.mark.parametrize("margin", ["ratio", "distance", "absolute"])
def test_in_a_pool_smaller_than_k_all_are_neighbours(margin: str) -> None:
    sides = (["eins", "zwei"], ["one", "two"])
    exact, larger = (make_evaluator(TestBitext("deu-eng", "deu", "eng", *sides), margin=margin, k=k) for k in (2, 50))
    vectors = torch.tensor([VECTORS[text] for text in exact.sentences()])
    assert larger.score(vectors).metrics == exact.score(vectors).metrics
    assert [(row["k"], row["k_used"]) for row in larger.score(vectors).details] == [(50, 2), (50, 2)]


@pytest.fixture
def tatoeba(tmp_path: Path) -> Path:
    for code, lines in (("deu", "eins\nzwei\n"), ("fra", "un\ndeux\n")):
        (tmp_path / f"tatoeba.{code}-eng.{code}").write_text(lines)
        (tmp_path / f"tatoeba.{code}-eng.eng").write_text("one\ntwo\n")
    return tmp_path


def test_missing_languages_are_noted_once_and_left_out_of_the_averages(
    tatoeba: Path, caplog: pytest.LogCaptureFixture
) -> None:
    evaluator = make_evaluator(
        root=str(tatoeba), languages=["deu", "kor", "fra", "swh"], read=read_tatoeba, missing="note"
    )
    evaluator.check()
    result = evaluator.score(torch.tensor([VECTORS[text] for text in evaluator.sentences()]))
    message, _ = caplog.messages  # and one of so few items
    assert message.endswith("for kor, swh; the averages are over the other 2 of 4")
    assert result.metrics["tatoeba/mean/accuracy"] == 87.5
    assert {row["missing_languages"] for row in result.details} == {"kor swh"}


def test_a_missing_language_is_an_error_without_the_option_note(tatoeba: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no files for kor, swa; there are deu, fra"):
        make_evaluator(root=str(tatoeba), languages=["deu", "kor", "swh"], read=read_tatoeba).check()


def test_no_files_at_all_are_an_error_even_with_a_note(tatoeba: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no files for kor"):
        make_evaluator(root=str(tatoeba), languages=["kor"], read=read_tatoeba, missing="note").check()
    with pytest.raises(FileNotFoundError, match=r"evaluator\.root="):
        make_evaluator(root=str(tatoeba / "nowhere"), languages=["deu"], read=read_tatoeba, missing="note").check()


def test_a_damaged_file_is_an_error_even_with_a_note(tatoeba: Path) -> None:
    (tatoeba / "tatoeba.fra-eng.eng").unlink()
    with pytest.raises(ValueError, match=r"tatoeba\.fra-eng\.fra: expected tatoeba\.fra-eng\.eng beside it"):
        make_evaluator(root=str(tatoeba), languages=["deu", "fra"], read=read_tatoeba, missing="note").check()


def test_the_digest_depends_on_contents_and_not_on_paths(tatoeba: Path, tmp_path: Path) -> None:
    def digest(root: Path) -> str:
        return make_evaluator(root=str(root), read=read_tatoeba).digest()

    copy = tmp_path / "copy"
    copy.mkdir()
    for path in tatoeba.glob("tatoeba.*"):
        (copy / path.name).write_bytes(path.read_bytes())
    assert digest(copy) == digest(tatoeba)
    (copy / "tatoeba.deu-eng.deu").write_text("eins\ndrei\n")
    assert digest(copy) != digest(tatoeba)


FEW = "ar bg de el es fr hi ru sw th tr ur vi zh"
MANY = f"{FEW} af bn et eu fa fi he hu id it ja jv ka kk ko ml mr nl pt ta te tl"


@pytest.mark.parametrize(("name", "codes"), [("tatoeba14", FEW), ("tatoeba36", MANY)])
def test_the_lists_are_those_of_the_paper(name: str, codes: str, shared_data: Path) -> None:
    languages = OmegaConf.load(ROOT / "conf" / "evaluator" / f"{name}.yaml").languages
    assert {to_iso639_3(code) for code in languages} == {to_iso639_3(code) for code in codes.split()}
    assert len(languages) == int(name.removeprefix("tatoeba"))
    if not (shared_data / "tatoeba").is_dir():
        pytest.skip(f"no test sets at {shared_data / 'tatoeba'}")
    assert len(read_tatoeba(str(shared_data / "tatoeba"), list(languages))) == len(languages)
