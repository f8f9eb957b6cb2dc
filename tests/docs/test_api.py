"""The page of the Python functions shows what they print."""

from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise

import pytest

import xsent
from tests.docs.commands import Block, Command, blocks
from tests.docs.execute import names_in
from tests.helpers import ROOT

PAGE = "docs/api.md"
BLOCKS = list(blocks(PAGE, (ROOT / PAGE).read_text(encoding="utf-8")))
# Of the examples that need no files, each with the block of its output.
EXAMPLES = [
    (code, output)
    for code, output in pairwise(BLOCKS)
    if code.language == "python"
    and output.language == "text"
    and not list(names_in(Command("", "\n".join(code.lines), ["python", "-c"], None, [])))
]


@pytest.mark.parametrize(("code", "output"), EXAMPLES, ids=[str(code.line) for code, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(code: Block, output: Block) -> None:
    printed = StringIO()
    with redirect_stdout(printed):
        exec("\n".join(code.lines), {})
    assert printed.getvalue().splitlines() == output.lines


def test_the_page_has_a_section_for_each_function() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert len(EXAMPLES) >= 6
    for name in {*dir(xsent), "encode", "similarity"} - {"__version__"}:
        assert f"\n## {name}\n" in text
