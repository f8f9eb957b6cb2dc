"""A small WordNet, and seeds of the shared data."""

from itertools import islice
from pathlib import Path

import pytest

from tests.text.divergences.helpers import write_wordnet
from xsent.text.divergences import AnnotatedPair, WordNet, read_annotated


@pytest.fixture(scope="session")
def wordnet_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("nltk", reason="needs nltk: pip install 'xsent[divergence]'")
    return write_wordnet(tmp_path_factory.mktemp("wordnet") / "dict")


@pytest.fixture(scope="session")
def small_wordnet(wordnet_folder: Path) -> WordNet:
    return WordNet(folder=str(wordnet_folder), levels_up=2, levels_down=1, senses=None)


@pytest.fixture(scope="session")
def real_pairs(shared_data: Path) -> list[AnnotatedPair]:
    folder = shared_data / "seeds"
    if not folder.is_dir():
        pytest.skip(f"no annotated seeds at {folder}")
    files = (folder / name for name in ("seeds.en.conllu", "seeds.fr.conllu", "seeds.align"))
    return list(islice(read_annotated(*files), 300))
