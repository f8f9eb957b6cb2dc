"""The page of published tables lists each table once, with commands that exist."""

import re

from tests.helpers import ROOT

PAGE = (ROOT / "docs/reproduction.md").read_text(encoding="utf-8")
PAPERS = {"CLSD": 5, "Divergent mBERT": 11, "ORACLE": 11, "Paraphrase": 2, "RoLASER": 9}


def test_every_table_of_the_five_papers_has_a_row() -> None:
    cells = [[cell.strip() for cell in line.split("|")[1:3]] for line in PAGE.splitlines() if line.startswith("| ")]
    tables: dict[str, list[str]] = {}
    paper = ""
    for name, number in cells[1:]:
        if link := re.match(r"\[(.+?)\]", name):
            paper = link[1]
        if number != "---":
            tables.setdefault(paper, []).append(number)
    numbers = {name: [str(number) for number in range(1, count + 1)] for name, count in PAPERS.items()}
    assert tables == numbers | {"Paraphrase": ["I", "II"]}


def test_the_experiments_and_evaluators_exist() -> None:
    names = re.findall(r"\b(experiment|evaluator)=([\w/]+)", PAGE)
    assert len(names) > 30
    assert [name for name in names if not (ROOT / "conf" / name[0] / f"{name[1]}.yaml").is_file()] == []
