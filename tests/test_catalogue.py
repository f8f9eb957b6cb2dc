from pathlib import Path

import pytest

from tests.helpers import ROOT
from xsent.catalogue import encoder_info, language_file, language_scores, language_table
from xsent.models.encoders.static import BUNDLED
from xsent.paths import sha256

FILE = """# vectors.safetensors 0
language\ttraining_pairs\ttatoeba\tflores
ace\t6000\t\t
ara\t12345\t80.00\t79.90
deu\t1000000\t80.00\t80.00
fao\t7\t\t81.26
swa\t0\t11.54\t
"""


def test_a_language_is_good_if_each_of_its_accuracies_is_at_least_80(tmp_path: Path) -> None:
    path = tmp_path / "languages.tsv"
    path.write_text(FILE, encoding="utf-8")
    assert [score.language for score in language_scores(path) if score.is_good] == ["deu", "fao"]
    table, about, untested = language_table(path).split("\n\n")
    assert table.splitlines() == [
        "language      pairs  Tatoeba  FLORES",
        "ara          12,345     80.0    79.9",
        "deu *     1,000,000     80.0    80.0",
        "fao *             7             81.3",
        "swa               0     11.5",
    ]
    assert about.replace("\n", " ").endswith("at least 80 in each test; 2 languages.")
    assert untested == "Not tested (pairs): ace 6,000."


@pytest.mark.parametrize("name", BUNDLED)
def test_the_languages_of_a_bundled_encoder_were_measured_with_its_vectors(name: str) -> None:
    path = language_file(name)
    digest = sha256(path.parent / "vectors.safetensors")
    assert path.read_text(encoding="utf-8").startswith(f"# vectors.safetensors {digest}\n"), (
        f"measure again: python -m benchmarks.languages {name}"
    )
    assert language_table(path) in (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    good = sum(score.is_good for score in language_scores(path))
    assert encoder_info(name).languages == str(good + 1)  # and English
