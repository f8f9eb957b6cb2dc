"""REFreSD in both of its forms, and SemDiverge: what is read, and what is refused."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import pytest

from xsent.batch import WordPair
from xsent.data.divergence_sets import read_refresd, read_semdiverge

RATIONALE = "#binary_label\t#3_labels\t#english_sentence\t#french_sentence\t#english_rational\t#french_rationale"
LABELS = "#binary_label #3_labels #english_sentence #french_sentence"  # by spaces, as released
HF = "#label\t#1ID\t#2ID\t#english_sentence\t#french_sentence"
HF_RATIONALE = f"{HF}\t#english_rational\t#french_rationale"

SAME = "equivalent\tno_meaning_difference"
SOME = "divergent\tsome_meaning_difference"


def write(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("\n".join(lines) + "\n")


def released(folder: Path, *rows: str) -> None:
    write(folder, "REFreSD_rationale", RATIONALE, *rows)


def test_the_released_form_has_words_highlights_and_raw_sentences(tmp_path: Path) -> None:
    released(tmp_path, f"{SAME}\tIt's a \"day .\tUn jour .\t0 0 1 0\t0 3 0", f"{SOME}\tNo .\tNon .\t2 0\t0 0")
    write(tmp_path, "REFreSD_sentence_labels", LABELS, f"{SAME}\tIt's a \"day.\tUn jour.", f"{SOME}\tNo.\tNon.")
    (one,) = read_refresd(str(tmp_path), None)
    assert one.pairs[0] == WordPair(("It's", "a", '"day', "."), ("Un", "jour", "."))
    assert (one.source, one.target) == (["It's a \"day.", "No."], ["Un jour.", "Non."])
    assert (one.equivalent, one.kinds) == ([True, False], ["no_meaning_difference", "some_meaning_difference"])
    assert one.highlights == [((0, 0, 1, 0), (0, 3, 0)), ((2, 0), (0, 0))]
    assert (one.name, one.annotators, one.source_lang, one.target_lang) == ("wikimatrix", 3, "eng", "fra")


def test_without_raw_sentences_they_are_the_words(tmp_path: Path) -> None:
    released(tmp_path, f"{SAME}\tYes .\tOui .\t0 0\t0 0")
    assert read_refresd(str(tmp_path), ["wikimatrix"])[0].source == ["Yes ."]


def test_the_form_for_hugging_face_finds_its_kinds_in_the_files_beside_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(
        tmp_path, "test.tsv", HF_RATIONALE,
        "0\t0\t1\tYes .\tOui .\t0 0\t0 0", "1\t2\t3\tNo .\tJamais .\t1 0\t3 0", "1\t4\t5\tA .\tB .\t1 1\t1 1",
    )  # fmt: skip
    write(tmp_path, "some_meaning_difference.tsv", HF, "0\t0\t1\tYes .\tOui .", "1\t2\t3\tNo .\tJamais .")
    with caplog.at_level(logging.WARNING):
        (one,) = read_refresd(str(tmp_path), None)
    assert one.kinds == ["no_meaning_difference", "some_meaning_difference", ""]
    assert one.equivalent == [True, False, False]
    assert "1 divergent pairs are in neither some_meaning_difference.tsv nor unrelated.tsv" in caplog.text


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (f"{SAME}\tYes .\tOui .\t0 0", "expected 6 columns by TAB, found 5"),
        (f"{SAME}\tYes .\tOui .\t0 0\t0", "french_rationale: expected a number for each of 2 words, found 1"),
        (f"{SAME}\tYes .\tOui .\t0 4\t0 0", "english_rational: expected numbers from 0 to 3, found '4'"),
        ("equivalent\tsame\tYes .\tOui .\t0 0\t0 0", "expected one of .*, found 'same'"),
        ("divergent\tno_meaning_difference\tYes .\tOui .\t0 0\t0 0", "expected equivalent with no_meaning_difference"),
        (f"{SAME}\t \tOui .\t\t0 0", "expected a sentence in english_sentence, found none"),
    ],
)
def test_what_is_no_refresd_is_an_error_with_file_and_line(tmp_path: Path, row: str, message: str) -> None:
    released(tmp_path, f"{SAME}\tYes .\tOui .\t0 0\t0 0", row)
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
    released(tmp_path, f"{SAME}\tYes .\tOui .\t0 0\t0 0")
    write(tmp_path, "REFreSD_sentence_labels", LABELS, f"{SOME}\tYes.\tOui.")
    with pytest.raises(ValueError, match=r"labels:2: expected no_meaning_difference .*, found some_meaning_difference"):
        read_refresd(str(tmp_path), None)
    write(tmp_path, "REFreSD_sentence_labels", LABELS, f"{SAME}\tYes.\tOui.", f"{SAME}\tA.\tB.")
    with pytest.raises(ValueError, match=r"has 2 pairs, .* has 1: they must be row-aligned"):
        read_refresd(str(tmp_path), None)


def test_a_folder_without_refresd_and_an_unknown_set_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expected REFreSD_rationale or test\.tsv"):
        read_refresd(str(tmp_path), None)
    with pytest.raises(ValueError, match=r"evaluator\.sets: unknown opensubs; expected some of wikimatrix"):
        read_refresd(str(tmp_path), ["opensubs"])


def test_the_digest_is_that_of_the_content(tmp_path: Path) -> None:
    released(tmp_path, f"{SAME}\tYes .\tOui .\t0 0\t0 0")
    before, again = (read_refresd(str(tmp_path), None)[0].digest() for _ in range(2))
    released(tmp_path, f"{SAME}\tYes .\tOui .\t0 1\t0 0")
    assert before == again != read_refresd(str(tmp_path), None)[0].digest()


def test_both_forms_of_the_real_half_of_refresd_say_the_same(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "refresd"
    if not folder.is_dir():
        pytest.skip(f"no REFreSD at {folder}")
    (one,) = read_refresd(str(folder), None)
    assert Counter(one.kinds) == {"no_meaning_difference": 185, "some_meaning_difference": 209, "unrelated": 126}
    (tmp_path / "test.tsv").write_bytes((folder / "test.tsv").read_bytes())
    (other,) = read_refresd(str(tmp_path), None)
    assert (one.pairs, one.equivalent, one.highlights) == (other.pairs, other.equivalent, other.highlights)
    assert one.source != other.source  # the raw sentences are in the released form alone


# ---- SemDiverge


def split(sentence: str, language: str) -> list[str]:
    assert language in ("eng", "fra")
    return sentence.split()


def test_semdiverge_has_1_for_equivalent_and_spaces_at_the_ends(tmp_path: Path) -> None:
    write(tmp_path, "opensubs.test", "so it is. \tc'est ça. \t1 \t0.8", "no. \toui. \t0 \t1.0 ")
    (one,) = read_semdiverge(str(tmp_path), None, words=split)
    assert (one.name, one.equivalent, one.highlights) == ("opensubs", [True, False], None)
    assert one.source == ["so it is.", "no."]
    assert one.pairs[0] == WordPair(("so", "it", "is."), ("c'est", "ça."))


def test_semdiverge_gives_the_sets_that_are_there_or_those_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "commoncrawl.test", "a\tb\t1\t1.0")
    assert [one.name for one in read_semdiverge(str(tmp_path), None, words=split)] == ["commoncrawl"]
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
    asked: list[str] = []

    def cut(sentence: str, language: str) -> list[str]:
        asked.append(sentence)
        return sentence.strip("?").split()

    write(tmp_path, "opensubs.test", "a b\tc\t1\t1.0", "a\t?\t1\t1.0")
    (one,) = read_semdiverge(str(tmp_path), None, words=cut)
    assert len(one.pairs) == 2
    before = one.digest()
    assert not asked
    with pytest.raises(ValueError, match=r"opensubs\.test:2: expected a sentence in fra, found '\?', which has no"):
        _ = one.pairs[0]
    write(tmp_path, "opensubs.test", "a b\tc\t1\t1.0")
    (one,) = read_semdiverge(str(tmp_path), None, words=cut)
    assert list(one.pairs) == [WordPair(("a", "b"), ("c",))]
    assert one.digest() != before


def test_the_real_semdiverge_has_its_published_size(shared_data: Path) -> None:
    folder = shared_data / "semdiverge"
    if not folder.is_dir():
        pytest.skip(f"no SemDiverge at {folder}")
    (one,) = read_semdiverge(str(folder), ["opensubs"], words=split)
    assert len(one.pairs) == 300
    # The third pair lacks half of itself in French.
    assert one.equivalent[:3] == [True, False, False]
