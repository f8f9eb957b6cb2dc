from dataclasses import replace
from pathlib import Path

import pytest

from xsent.text.divergences import AnnotatedPair, read_annotated
from xsent.text.divergences.conllu import read_conllu

ENGLISH = """\
# sent_id = s1
# source = books
1\tOf\t_\tADP\tIN\t_\t3\tcase\t_\t_
2\tthe\t_\tDET\tDT\t_\t3\tdet\t_\t_
3\tdog\t_\tNOUN\tNN\t_\t0\troot\t_\tSpaceAfter=No

# sent_id = s2
1\tGo\t_\tVERB\tVB\t_\t0\troot\t_\t_
2\t!\t_\tPUNCT\t.\t_\t1\tpunct\t_\t_
"""
FRENCH = """\
# sent_id = s1
1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_
1\tDe\t_\tADP\t_\t_\t_\t_\t_\t_
2\tle\t_\tDET\t_\t_\t_\t_\t_\t_
2.1\tgros\t_\tADJ\t_\t_\t_\t_\t_\t_
3\tchien\t_\tNOUN\t_\t_\t_\t_\t_\t_

# sent_id = s2
1\tVa\t_\t_\t_\t_\t_\t_\t_\t_
2\t!\t_\t_\t_\t_\t_\t_\t_\t_
"""
LINKS = "0-0 1-1 2-2\n\n"


def written(folder: Path, english: str = ENGLISH, french: str = FRENCH, links: str = LINKS) -> tuple[Path, Path, Path]:
    paths = folder / "s.en.conllu", folder / "s.fr.conllu", folder / "s.align"
    for path, text in zip(paths, (english, french, links), strict=True):
        path.write_bytes(text.encode())
    return paths


def test_pairs_are_read_without_the_lines_of_multi_word_tokens_and_empty_nodes(tmp_path: Path) -> None:
    first, second = read_annotated(*written(tmp_path))
    assert first == AnnotatedPair(
        key="s1",
        source=("Of", "the", "dog"),
        target=("De", "le", "chien"),
        tags=("IN", "DT", "NN"),
        heads=(2, 2, -1),
        links=((0, 0), (1, 1), (2, 2)),
        origin="books",
        target_tags=("ADP", "DET", "NOUN"),
    )
    assert (second.origin, second.links, second.target_tags) == ("", (), ())


def test_line_ends_of_windows_missing_last_blank_lines_and_byte_order_marks_change_nothing(tmp_path: Path) -> None:
    plain = list(read_annotated(*written(tmp_path)))
    windows = [text.rstrip("\n").replace("\n", "\r\n") for text in (ENGLISH, FRENCH)]
    assert list(read_annotated(*written(tmp_path, *windows))) == plain
    assert list(read_annotated(*written(tmp_path, "\ufeff" + ENGLISH, "\ufeff" + FRENCH, "\ufeff" + LINKS))) == plain


def test_without_a_file_of_links_pairs_have_none_and_are_checked_alike(tmp_path: Path) -> None:
    english, french, links = written(tmp_path)
    linked = list(read_annotated(english, french, links))
    assert list(read_annotated(english, french, None)) == [replace(pair, links=()) for pair in linked]
    english.write_text(ENGLISH.replace("s2", "s1"), encoding="utf-8")
    french.write_text(FRENCH.replace("s2", "s1"), encoding="utf-8")
    for files in ((english, french, None), (english, french, links)):
        with pytest.raises(ValueError, match=r"s\.en\.conllu:8: expected every sent_id once, found 's1' again"):
            list(read_annotated(*files))


def test_a_unicode_line_separator_ends_no_line(tmp_path: Path) -> None:
    path = tmp_path / "odd.conllu"
    path.write_text(ENGLISH.replace("books", "bo\u2028ok\u0085s"), encoding="utf-8")
    assert next(read_conllu(path)).origin == "bo\u2028ok\u0085s"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3\tdog\t_\t", "3\tdog\t", r"s.en.conllu:5: expected 10 columns, found 9"),
        ("3\tdog", "4\tdog", r"s.en.conllu:5: expected word 3, found '4'"),
        ("\t0\troot\t_\tSpace", "\tx\troot\t_\tSpace", r"s.en.conllu:5: expected the number of a head, found 'x'"),
        ("# sent_id = s2\n", "", r"s.en.conllu:7: expected '# sent_id = ...' above the sentence, found none"),
        ("s1", "s9", r"s.fr.conllu:3: expected sent_id 's9', as .*s.en.conllu:3, found 's1'"),
        ("\tDT\t", "\t_\t", r"s.en.conllu:3 \(s1\), with .*s.align:1: expected 3 tags, .* found 0"),
        ("\t3\tdet", "\t9\tdet", r"s.en.conllu:3 \(s1\).*: expected heads from 1 to 3, found 9 at word 2"),
        ("\t3\tdet", "\t0\tdet", r"s.en.conllu:3 \(s1\).*: expected one root, found 2"),
        ("1\tGo", "1\tG o", r"s.en.conllu:8 \(s2\).*: expected a word without white space, found 'G o'"),
    ],
)
def test_a_broken_source_file_is_named_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert ENGLISH.count(old) >= 1
    with pytest.raises(ValueError, match=message):
        list(read_annotated(*written(tmp_path, english=ENGLISH.replace(old, new, 1))))


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ("0-0\n", r"s.align: expected as many sentences as the other files, found 1"),
        ("0-0\n\n0-0\n", r"s.en.conllu and .*s.fr.conllu: expected as many sentences as the other files, found 2"),
        ("0-0 1-3\n\n", r"s.align:1: expected links from 0-0 to 2-2, found 1-3"),
        ("0-0\n0_0\n", r"s.align:2: expected links as 0-3, source-target, found '0_0'"),
    ],
)
def test_links_that_do_not_fit_are_named_with_their_line(tmp_path: Path, links: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(read_annotated(*written(tmp_path, links=links)))


def test_broken_utf8_and_a_missing_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.conllu"
    path.write_bytes(ENGLISH.encode().replace(b"dog", b"d\xffg"))
    with pytest.raises(ValueError, match=r"broken.conllu:5: expected UTF-8, found byte 0xff"):
        list(read_conllu(path))
    with pytest.raises(FileNotFoundError, match=r"none\.conllu: expected a text file"):
        list(read_conllu(tmp_path / "none.conllu"))


def test_the_shared_seeds_are_read(real_pairs: list[AnnotatedPair]) -> None:
    assert len({pair.key for pair in real_pairs}) == 300
    assert all(pair.links and pair.target_tags for pair in real_pairs)
