"""Select fault injections and count them by family.

Every test of this folder has the marker ``faults``. ``make faults`` runs all, ``make faults-short`` those that are not
``exhaustive``; of a function with many rows, all but every seventeenth are.
"""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
MANY = 16  # rows of a function that all run in the short form
STEP = 17  # of more rows every seventeenth: a prime, so that each of several parameters varies
INJECTIONS = "injections"  # user property of a test that injects several faults
OUTCOMES = {"passed": "held", "failed": "failed", "error": "failed", "skipped": "skipped"}


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy data of all recipes."""
    from tests.faults.killed_runs import make_data

    return make_data(tmp_path_factory.mktemp("toy"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker("faults")
            functions[item.nodeid.partition("[")[0]].append(item)
    for rows in functions.values():
        if len(rows) > MANY:
            for number, item in enumerate(rows):
                if number % STEP:
                    item.add_marker("exhaustive")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome, column in OUTCOMES.items():
        for report in terminalreporter.stats.get(outcome, []):
            path = Path(report.nodeid.partition("::")[0])
            if path.parent.name == FOLDER.name:
                family = path.stem.removeprefix("test_").replace("_", " ")
                counts[family][column] += int(dict(getattr(report, "user_properties", ())).get(INJECTIONS, 1))
    if not counts:
        return
    counts = {family: counts[family] for family in sorted(counts)} | {"all": sum(counts.values(), Counter())}
    terminalreporter.section("injected faults")
    terminalreporter.write_line("| family | tried | held | failed | skipped |\n| --- | ---: | ---: | ---: | ---: |")
    for family, row in counts.items():
        tried = row["held"] + row["failed"]
        terminalreporter.write_line(f"| {family} | {tried:,} | {row['held']:,} | {row['failed']} | {row['skipped']} |")
