import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT
from tests.text.divergences.test_generator import PAIRS, diverge, diverger
from tests.text.noise.test_noiser import SENTENCES, noiser
from xsent.text.noise.lexicons import bundled


def results(wordnet: str) -> str:
    noisy = list(noiser().apply(SENTENCES * 100, range(300)))
    return repr((noisy, bundled().digest(), diverge(diverger(Path(wordnet)), PAIRS)))


def test_the_order_of_sets_in_a_process_does_not_matter(wordnet_folder: Path) -> None:
    pytest.importorskip("nltk", reason="pip install 'xsent[divergence]'")
    code = f"from tests.text.test_hash_seed import results; print(results({str(wordnet_folder)!r}), end='')"
    expected = results(str(wordnet_folder))
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, check=True, capture_output=True, encoding="utf-8"
    )
    assert process.stdout == expected
