"""The figures of a study, from sentences to files, and what is refused before anything is embedded."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from xsent.data.readers.tatoeba import TestBitext
from xsent.models.encoders.disentangled import DisentangledEncoder, DisentanglingHeads
from xsent.models.encoders.static import StaticEncoder
from xsent.reporting.pages.oracle_figures import study_figures

ENGLISH = ["a dog", "a cat", "the house", "a red car", "two birds", "my name", "good night", "thank you"]
GERMAN = ["ein Hund", "eine Katze", "das Haus", "ein Auto", "zwei Vögel", "mein Name", "gute Nacht", "danke"]
FRENCH = ["un chien", "un chat", "la maison", "une auto", "deux oiseaux", "mon nom", "bonne nuit", "merci"]


@cache
def encoder(seed: int) -> DisentangledEncoder:
    torch.manual_seed(seed)
    micro = StaticEncoder.load(name="micro", path=None)
    return DisentangledEncoder(micro, DisentanglingHeads(micro.dim, []))


def pair(source_lang: str, target_lang: str, source: list[str], target: list[str]) -> TestBitext:
    return TestBitext(f"{source_lang}-{target_lang}", source_lang, target_lang, source, target)


PAIRS = [pair("deu", "eng", GERMAN, ENGLISH), pair("eng", "fra", ENGLISH, FRENCH), pair("deu", "fra", GERMAN, FRENCH)]


def draw(folder: Path, **changed: Any) -> list[Path]:
    arguments: dict[str, Any] = {
        "panels": {"DREAM": encoder(0).embed, "MEAT": encoder(1).embed},
        "pairs": PAIRS,
        "title": "micro",
        "spaces": ["meaning", "language"],
        "folder": folder / "figures",
        "cache_dir": folder / "cache",
        "seed": 1,
        "perplexity": 5.0,
    }
    return study_figures(**(arguments | changed))


def width_and_height(path: Path) -> list[int]:
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG")
    return [int.from_bytes(content[at : at + 4], "big") for at in (16, 20)]


def test_each_pair_has_two_pictures_and_all_have_one_page(tmp_path: Path) -> None:
    paths = draw(tmp_path)
    names = [f"figure-{pair}{suffix}.png" for pair in ("deu", "fra", "deu-fra") for suffix in ("", "-pca")]
    assert [path.name for path in paths] == [*names, "figures.html"]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(path.name for path in paths)
    for width, height in map(width_and_height, paths[:-1]):
        assert 1.3 * height < width < 2 * height  # two square panels, a title and a legend


def test_the_same_study_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (draw(tmp_path / name, pairs=PAIRS[:1]) for name in "ab")
    for path, again in zip(first, second, strict=True):
        assert path.read_bytes() == again.read_bytes()


def test_a_page_that_cannot_be_written_is_logged_and_the_pictures_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "figures" / "figures.html").mkdir(parents=True)
    paths = draw(tmp_path, pairs=PAIRS[:1])
    assert [path.suffix for path in paths] == [".png", ".png"]
    assert "figures.html: page not written" in caplog.text


def test_a_fifth_panel_begins_a_second_row(tmp_path: Path) -> None:
    names = ["Original", "DREAM", "DREAM + ORACLE", "MEAT", "MEAT + ORACLE"]
    paths = draw(tmp_path, panels=dict.fromkeys(names, encoder(0).embed), pairs=PAIRS[:1])
    width, height = width_and_height(paths[0])
    assert 1.5 * height < width < 2 * height


def test_too_few_sentences_for_tsne_leave_the_other_pairs_and_pca_as_they_are(tmp_path: Path) -> None:
    few = pair("gn", "eng", GERMAN[:1], ENGLISH[:1])
    paths = draw(tmp_path, pairs=[few, *PAIRS[:1]])
    assert len(paths) == 5
    assert "no t-SNE: perplexity 5 needs more than 5 distinct vectors, found 4 among 4" in paths[-1].read_text()


def embed_three(sentences: list[str]) -> dict[str, Tensor]:
    return {"meaning": torch.ones(3, 4), "language": torch.ones(3, 4)}


def embed_nan(sentences: list[str]) -> dict[str, Tensor]:
    return {space: torch.full((len(sentences), 4), torch.nan) for space in ("meaning", "language")}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pairs": []}, "figures need panels and language pairs, found 2 and 0"),
        ({"panels": {}}, "figures need panels and language pairs, found 0 and 3"),
        ({"spaces": ["colour"]}, "spaces colour: expected some of meaning, language, original, each once"),
        ({"spaces": []}, "spaces none: expected some of"),
        ({"pairs": [PAIRS[0], PAIRS[0]]}, "language pairs given twice: deu"),
        ({"pairs": [pair("deu", "eng", GERMAN, ENGLISH[:3])]}, "deu: expected .* translations, found 3 and 8"),
        ({"pairs": [pair("deu", "eng", [], [])]}, "deu: expected sentences .*, found 0 and 0"),
        ({"panels": {"LaBSE": lambda s: {"original": torch.ones(len(s), 4)}}}, "LaBSE: no meaning, language vectors"),
        ({"panels": {"x": embed_three}}, r"x: expected meaning vectors \(24, D >= 2\), found \(3, 4\)"),
        ({"panels": {"x": embed_nan}}, "x: expected finite meaning vectors"),
    ],
)
def test_what_cannot_be_drawn_is_an_error_that_leaves_nothing_behind(
    changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        draw(tmp_path, **changed)
    assert not (tmp_path / "figures").exists()
