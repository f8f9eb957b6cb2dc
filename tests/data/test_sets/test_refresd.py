"""REFreSD in both of its forms, and SemDiverge: what is read, and what is refused."""

import logging
from collections import Counter
from pathlib import Path

import pytest

from tests.helpers import existing
from xsent.batch import WordPair
from xsent.data.test_sets.refresd import read_refresd
from xsent.data.test_sets.semdiverge import read_semdiverge

RATIONALE = "#binary_label\t#3_labels\t#english_sentence\t#french_sentence\t#english_rational\t#french_rationale"
LABELS = "#binary_label #3_labels #english_sentence #french_sentence"  # by spaces, as released
HF = "#label\t#1ID\t#2ID\t#english_sentence\t#french_sentence"
HF_RATIONALE = f"{HF}\t#english_rational\t#french_rationale"

EQUAL = "equivalent\tno_meaning_difference"
SEVERAL = "divergent\tsome_meaning_difference"


def write(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("\n".join(lines) + "\n")


def released(folder: Path, *rows: str) -> None:
    write(folder, "REFreSD_rationale", RATIONALE, *rows)


def test_the_released_form_has_words_highlights_and_raw_sentences(tmp_path: Path) -> None:
    released(tmp_path, f"{EQUAL}\tIt's a \"day .\tUn jour .\t0 0 1 0\t0 3 0", f"{SEVERAL}\tNo .\tNon .\t2 0\t0 0")
    write(tmp_path, "REFreSD_sentence_labels", LABELS, f"{EQUAL}\tIt's a \"day.\tUn jour.", f"{SEVERAL}\tNo.\tNon.")
    (corpus,) = read_refresd(str(tmp_path), None)
    assert corpus.pairs[0] == WordPair(("It's", "a", '"day', "."), ("Un", "jour", "."))
    assert (corpus.source, corpus.target) == (["It's a \"day.", "No."], ["Un jour.", "Non."])
    assert (corpus.equivalent, corpus.kinds) == ([True, False], ["no_meaning_difference", "some_meaning_difference"])
    assert corpus.highlights == [((0, 0, 1, 0), (0, 3, 0)), ((2, 0), (0, 0))]
    assert (corpus.name, corpus.annotators, corpus.source_lang, corpus.target_lang) == ("wikimatrix", 3, "eng", "fra")


def test_without_raw_sentences_they_are_the_words(tmp_path: Path) -> None:
    released(tmp_path, f"{EQUAL}\tYes .\tOui .\t0 0\t0 0")
    assert read_refresd(str(tmp_path), ["wikimatrix"])[0].source == ["Yes ."]


def test_the_form_for_hugging_face_finds_its_kinds_in_the_files_beside_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(
        tmp_path,
        "test.tsv",
        HF_RATIONALE,
        "0\t0\t1\tYes .\tOui .\t0 0\t0 0",
        "1\t2\t3\tNo .\tJamais .\t1 0\t3 0",
        "1\t4\t5\tA .\tB .\t1 1\t1 1",
    )
    write(tmp_path, "some_meaning_difference.tsv", HF, "0\t0\t1\tYes .\tOui .", "1\t2\t3\tNo .\tJamais .")
    with caplog.at_level(logging.WARNING):
        (corpus,) = read_refresd(str(tmp_path), None)
    assert corpus.kinds == ["no_meaning_difference", "some_meaning_difference", ""]
    assert corpus.equivalent == [True, False, False]
    assert "1 divergent pairs are in neither some_meaning_difference.tsv nor unrelated.tsv" in caplog.text


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (f"{EQUAL}\tYes .\tOui .\t0 0", "expected 6 columns by TAB, found 5"),
        (f"{EQUAL}\tYes .\tOui .\t0 0\t0", "french_rationale: expected a number for each of 2 words, found 1"),
        (f"{EQUAL}\tYes .\tOui .\t0 4\t0 0", "english_rational: expected numbers from 0 to 3, found '4'"),
        ("equivalent\tsame\tYes .\tOui .\t0 0\t0 0", "expected one of .*, found 'same'"),
        ("divergent\tno_meaning_difference\tYes .\tOui .\t0 0\t0 0", "expected equivalent with no_meaning_difference"),
        (f"{EQUAL}\t \tOui .\t\t0 0", "expected a sentence in english_sentence, found none"),
    ],
)
def test_what_is_no_refresd_is_an_error_with_file_and_line(tmp_path: Path, row: str, message: str) -> None:
    released(tmp_path, f"{EQUAL}\tYes .\tOui .\t0 0\t0 0", row)
    with pytest.raises(ValueError, match=rf"REFreSD_rationale:3: {message}"):
        read_refresd(str(tmp_path), None)


def test_the_form_for_hugging_face_has_labels_0_and_1(tmp_path: Path) -> None:
    write(tmp_path, "test.tsv", HF_RATIONALE, "divergent\t0\t1\tYes .\tOui .\t0 0\t0 0")
    with pytest.raises(ValueError, match=r"test\.tsv:2: expected label 0 .*, found 'divergent'"):
        read_refresd(str(tmp_path), None)


def test_another_header_or_nothing_below_it_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "REFreSD_rationale", LABELS)
    with pytest.raises(ValueError, match=r"REFreSD_rationale:1: expected the header"):
        read_refresd(str(tmp_path), None)
    released(tmp_path)
    with pytest.raises(ValueError, match=r"REFreSD_rationale: expected at least 1 pair"):
        read_refresd(str(tmp_path), None)


def test_the_two_released_files_must_go_together(tmp_path: Path) -> None:
    released(tmp_path, f"{EQUAL}\tYes .\tOui .\t0 0\t0 0")
    write(tmp_path, "REFreSD_sentence_labels", LABELS, f"{SEVERAL}\tYes.\tOui.")
    with pytest.raises(ValueError, match=r"labels:2: expected no_meaning_difference .*, found some_meaning_difference"):
        read_refresd(str(tmp_path), None)
    write(tmp_path, "REFreSD_sentence_labels", LABELS, f"{EQUAL}\tYes.\tOui.", f"{EQUAL}\tA.\tB.")
    with pytest.raises(ValueError, match=r"has 2 pairs, .* has 1: they must be row-aligned"):
        read_refresd(str(tmp_path), None)


def test_a_folder_without_refresd_and_an_unknown_set_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expected REFreSD_rationale or test\.tsv"):
        read_refresd(str(tmp_path), None)
    with pytest.raises(ValueError, match=r"evaluator\.sets: unknown opensubs; expected some of wikimatrix"):
        read_refresd(str(tmp_path), ["opensubs"])


def test_the_digest_is_that_of_the_content(tmp_path: Path) -> None:
    released(tmp_path, f"{EQUAL}\tYes .\tOui .\t0 0\t0 0")
    before, again = (read_refresd(str(tmp_path), None)[0].digest() for _ in range(2))
    released(tmp_path, f"{EQUAL}\tYes .\tOui .\t0 1\t0 0")
    assert before == again != read_refresd(str(tmp_path), None)[0].digest()


def test_both_forms_of_the_real_half_of_refresd_say_the_same(shared_data: Path, tmp_path: Path) -> None:
    folder = existing(shared_data / "refresd")
    (released,) = read_refresd(str(folder), None)
    assert Counter(released.kinds) == {"no_meaning_difference": 185, "some_meaning_difference": 209, "unrelated": 126}
    (tmp_path / "test.tsv").write_bytes((folder / "test.tsv").read_bytes())
    (other,) = read_refresd(str(tmp_path), None)
    for name in ("pairs", "equivalent", "highlights"):
        assert getattr(released, name) == getattr(other, name)
    assert released.source != other.source  # the raw sentences are in the released form alone


# ---- SemDiverge


def split(sentence: str, language: str) -> list[str]:
    assert language in ("eng", "fra")
    return sentence.split()


def test_semdiverge_has_1_for_equivalent_and_spaces_at_the_ends(tmp_path: Path) -> None:
    write(tmp_path, "opensubs.test", "so it is. \tc'est ça. \t1 \t0.8", "no. \toui. \t0 \t1.0 ")
    (corpus,) = read_semdiverge(str(tmp_path), None, words=split)
    assert (corpus.name, corpus.equivalent, corpus.highlights) == ("opensubs", [True, False], None)
    assert corpus.source == ["so it is.", "no."]
    assert corpus.pairs[0] == WordPair(("so", "it", "is."), ("c'est", "ça."))


def test_semdiverge_gives_the_sets_that_are_there_or_those_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "commoncrawl.test", "a\tb\t1\t1.0")
    assert [corpus.name for corpus in read_semdiverge(str(tmp_path), None, words=split)] == ["commoncrawl"]
    with pytest.raises(FileNotFoundError, match=r"expected opensubs\.test, found none"):
        read_semdiverge(str(tmp_path), ["opensubs", "commoncrawl"], words=split)
    with pytest.raises(FileNotFoundError, match=r"expected opensubs\.test and commoncrawl\.test"):
        read_semdiverge(str(tmp_path / "none"), None, words=split)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a\tb\t1", "expected 4 columns by TAB, found 3"),
        ("a\tb\tequivalent\t1.0", r"expected label 1 \(equivalent\) or 0 \(divergent\), found 'equivalent'"),
        ("a\tb\t1\thigh", "expected an agreement from 0 to 1, found 'high'"),
        ("a\t \t1\t1.0", "expected a sentence in fra, found none"),
    ],
)
def test_what_is_no_semdiverge_is_an_error_with_file_and_line(tmp_path: Path, row: str, message: str) -> None:
    write(tmp_path, "opensubs.test", "a\tb\t1\t1.0", row)
    with pytest.raises(ValueError, match=rf"opensubs\.test:2: {message}"):
        read_semdiverge(str(tmp_path), None, words=split)


def test_semdiverge_is_cut_into_words_when_its_pairs_are_asked_for(tmp_path: Path) -> None:
    requested: list[str] = []

    def cut(sentence: str, language: str) -> list[str]:
        requested.append(sentence)
        return sentence.strip("?").split()

    write(tmp_path, "opensubs.test", "a b\tc\t1\t1.0", "a\t?\t1\t1.0")
    (corpus,) = read_semdiverge(str(tmp_path), None, words=cut)
    assert len(corpus.pairs) == 2
    before = corpus.digest()
    assert not requested
    with pytest.raises(ValueError, match=r"opensubs\.test:2: expected a sentence in fra, found '\?', which has no"):
        _ = corpus.pairs[0]
    write(tmp_path, "opensubs.test", "a b\tc\t1\t1.0")
    (corpus,) = read_semdiverge(str(tmp_path), None, words=cut)
    assert list(corpus.pairs) == [WordPair(("a", "b"), ("c",))]
    assert corpus.digest() != before


def test_the_real_semdiverge_has_its_published_size(shared_data: Path) -> None:
    folder = existing(shared_data / "semdiverge")
    (corpus,) = read_semdiverge(str(folder), ["opensubs"], words=split)
    assert len(corpus.pairs) == 300
    # The third pair lacks half of itself in French.
    assert corpus.equivalent[:3] == [True, False, False]
