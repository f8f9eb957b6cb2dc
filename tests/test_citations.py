"""Citations of the reproduced papers in ``conf/``, ``docs/`` and docstrings, held to the papers' texts."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest

# A file of the papers' texts: how a citation names the paper.
PAPERS = {
    "divergent-mbert": r"Briakou|Divergent mBERT",
    "oracle": r"\bKi(?:,| et al)|ORACLE",
    "clsd": r"Michail",
    "paraphrase": r"Fedorova",
    "rolaser": r"Nishimwe|RoLASER",
}
# Part of a path: the paper of a citation that no name precedes.
ABOUT = {
    "diverge": "divergent-mbert",
    "oracle": "oracle",
    "pages/study.py": "oracle",
    "docs/figures.md": "oracle",
    "clsd": "clsd",
    "distract": "clsd",
    "paraphrase": "paraphrase",
    "additive_margin": "paraphrase",
    "noisy": "rolaser",
}
EXAMPLES = {"docs/howto/add-a-recipe.md"}  # cites a paper that the page only uses as an example
# Papers whose texts are not at hand: "Och and Ney 2003". Of these only sections and equations are cited.
OTHER = re.compile(r"[A-Z]\w+(?: [A-Z]\w+)*(?: et al\.|(?:,| and| &) [A-Z]\w+)* (?:19|20)\d\d[^;\n]*\n?[^;\n]{0,60}$")
NUMBER = r"\(?(?:[IVX]+(?:-[A-Z])?|[A-D](?:\.\d)?|\d\d?(?:\.\d)*)\)?(?![\w-]*\w)"
CITATION = re.compile(
    rf"\b(?P<kind>(?i:section|appendi|table|figure|equation))(?:s|x|ces)? (?P<numbers>{NUMBER}"
    rf"(?:(?:, and |, | and | to |-){NUMBER})*)"
)
# What a cited place is about: words of which the citation has one. Each is in the place itself; where the repository
# uses other words than the paper, these stand before "=".
TOPICS = {
    "divergent-mbert": {
        "3.1": "probability, [CLS], pairs above=class, together=concatenating",
        "3.2": "deletion, replacement, substitut, hypernym, generat, bert, synthetic",
        "3.3": "rank, losses=loss",
        "3.4": "token, heads=feedforward",
        "4": "too short or=too short or, filter=filtered, refresd, reject=excluded",
        "5": "moses, 5,000, seed, tokeniz, f1",
        "6.1": "sampl, paired, baseline, cross entropy=CE, threshold",
        "7.1": "highlighted",
        "7.2": "some_meaning_difference=some meaning difference",
        "A.2": "coarse, comparison=compare, insert=coarse",
        "equation 1": "margin",
        "equation 2": "token, word=token",
        "figure 4": "percent, distributions",
        "table 2": "agreement, annotat",
        "table 3": "refresd, baseline, divergence ranking, mbert, recall",
        "table 4": "word=token, highlighted=token",
        "table 5": "share=%, percent_rule=%, percentage of=%",
        "table 6": "margin",
        "table 7": "coarse, opensubtitles, semdiverge=opensubtitles",
        "table 10": "dev",
        "table 11": "dev, word=results, synthetic",
    },
    "oracle": {
        "3.1": "dream",
        "3.2": "meat",
        "4.1": "cluster",
        "4.2": "separat",
        "5.1": "sample, pairs=pairs",
        "5.3": "[CLS], frozen",
        "5.4": "tatoeba, held-out, sts=textual similarity",
        "6.1": "unseen, directions=direction, english",
        "6.2": "monolingual, sts",
        "7.1": "code-switch, codeswitch=code-switch",
        "7.2": "visualiz",
        "7.3": "alone, component",
        "A.1": "corpus",
        "A.2": "unseen",
        "A.3": "lr=learning rate, patience=no improvement, batch_size=batch size",
        "equation 5": "clust, compares=pairwise",
        "equation 6": "positive=max, separat, released=separated",
        "table 3": "tatoeba, accuracy",
        "table 4": "term=objective, parts=objective, labse=objective",
        "table 7": "code-switched",
        "table 8": "held-out",
        "table 9": "tatoeba, languages=language, accuracy, average",
        "table 10": "sts",
        "table 11": "code-switched, muse=code-switched",
        "figure 1": "zho=chinese, vectors=embeddings",
    },
    "clsd": {
        "3.1": "distractor, gpt-4, 0.47, sets=datasets",
        "3.2": "english, pivot",
        "3.3": "stanza, swap=single word, swapped=single word, correlation",
        "figure 1": "asks for=prompt",
        "figure 2": "noun=PoS, tags=PoS, cross=cross-lingual",
        "figure 3": "mono",
        "table 2": "p@1=precision@1, clsd=cross-lingual semantic",
        "table 3": "made=generat, llm=generat",
        "table 4": "jaccard, overlap=jaccard",
    },
    "paraphrase": {
        "III-A": "paws-x",
        "III-C": "labse",
        "equation 1": "cos_of_cos=positive component",
        "equation 3": "hard negatives=hard negative",
        "table I": "mean=evaluation results, paws-x",
        "table II": "kind=classes",
    },
    "rolaser": {
        "3": "noise=non-standard, noisy=non-standard",
        "4": "drift=distance, noisy=non-standard",
        "4.1": "xsim",
        "4.2": "distinct tokens=unique tokens, type-token",
        "5": "oscar",
        "6": "seeds=generation seeds, noisy=UGC",
        "6.1": "t-test, student",
        "A": "mix_all, transformation, augmenter",
        "B": "quantile, english",
        "figure 2": "translations, pca, interesting",
        "table 4": "natural noise=rocs-mt test sets",
        "table 5": "flores, mix_all=all ugc types",
        "table 6": "rocs-mt, xsim",
        "table 7": "cosine distance, standard sentences=standard english embeddings",
        "table 8": "tasks, mteb=tasks, tweet=twitter",
        "table 9": "xsim",
    },
}


class Citation(NamedTuple):
    where: str  # file:line
    paper: str | None  # None: of a paper that is not at hand
    place: str  # "3.2" for sections and appendices, "table 4", "figure 2", "equation 1"
    context: str  # path, names and text around the citation; "" for a table among others or in prose


def places(kind: str, numbers: str) -> Iterator[str]:
    """Places of a citation: "7 to 9" of tables are table 7, table 8 and table 9."""
    prefix = "" if kind.lower() in ("section", "appendi") else f"{kind.lower()} "
    items = [match.strip("()") for match in re.findall(r"[^\s,]+", numbers.replace("-", " to ") if prefix else numbers)]
    for position, item in enumerate(items):
        if item == "to":
            first, last = int(items[position - 1]), int(items[position + 1])
            yield from (f"{prefix}{number}" for number in range(first + 1, last))
        elif item != "and":
            yield prefix + item


def citations(root: Path) -> Iterator[Citation]:
    for folder, suffix in (("conf", ".yaml"), ("xsent", ".py"), ("docs", ".md")):
        for path in sorted((root / folder).rglob(f"*{suffix}")):
            name = path.relative_to(root).as_posix()
            if name in EXAMPLES:
                continue
            text = path.read_text(encoding="utf-8")
            paper = None
            for match in CITATION.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                before, context = text[: match.start()], f"{name} {_context(text, line, suffix)}".lower()
                cited = list(places(match["kind"], match["numbers"]))
                for place in cited:
                    paper = paper if before.endswith("the same, ") else _paper(name, before, text[match.end() :], place)
                    by_number = " " in place and (len(cited) > 1 or suffix == ".md")
                    yield Citation(f"{name}:{line}", paper, place, "" if by_number else context)


def _paper(name: str, before: str, after: str, place: str) -> str | None:
    for paper, pattern in PAPERS.items():
        if re.match(rf"\s+of (?:{pattern})", after):
            return paper
    other = None if place.startswith(("table", "figure")) else OTHER.search(before)
    if other and not any(re.search(pattern, other.group()) for pattern in PAPERS.values()):
        return None
    mentions = {paper: [*re.finditer(pattern, before)] for paper, pattern in PAPERS.items()}
    last = {paper: found[-1].end() for paper, found in mentions.items() if found}
    if last:
        return max(last, key=last.__getitem__)
    about = [paper for part, paper in ABOUT.items() if part in name]
    assert about, f"{name}: name the paper of {place!r}"
    return about[0]


def _context(text: str, line: int, suffix: str) -> str:
    """The docstring around a line with the names of its owners; else the line with a comment above it."""
    lines = text.splitlines()
    if suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            body = getattr(node, "body", None)
            first = body[0] if isinstance(body, list) and body else None
            if isinstance(first, ast.Expr) and first.lineno <= line <= (first.end_lineno or 0):
                return f"{getattr(node, 'name', '')} {ast.unparse(first)}"
    return re.sub(r"`python [^`]*`", "", " ".join(lines[max(0, line - 2) : line]))  # less commands


@lru_cache
def sections(text: str) -> dict[str, str]:
    """Sections of a paper by number; a number that does not follow the one before it is no heading."""
    roman = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5}
    found: dict[str, list[str]] = {}
    last: tuple[int, ...] = ()
    current: list[str] = []
    for line in text.splitlines():
        heading = re.match(r"(?:Appendix )?(?P<number>[IV]+(?:-[A-Z])?|[A-D](?:\.\d)?|\d(?:\.\d)*)\.? \W*[A-Zx]", line)
        number = heading["number"] if heading else (re.findall(r"^[A-Z][\w ]+ (\d)$", line) or [""])[0]
        parts = re.split(r"[.-]", number) if number else []
        order = tuple(int(part) if part.isdigit() else roman.get(part, 20 + ord(part[0])) for part in parts)
        if order and last < order and (len(last) == 0 or order[0] <= last[0] + 1 or parts[0] == "A"):
            last, current = order, found.setdefault(number, [])
        current.append(line)
    return {number: "\n".join(lines) for number, lines in found.items()}


def place_text(text: str, place: str) -> str | None:
    """Text of a section, equation, table or figure; of the others the paragraphs that name it; None: not there."""
    kind, _, number = place.rpartition(" ")
    if not kind:
        own = sections(text)
        parts = [body for name, body in own.items() if name == number or re.match(rf"{re.escape(number)}[.-]", name)]
        return "\n".join(parts) or None
    lines = text.splitlines()
    pattern = rf"\({number}\)\$*$" if kind == "equation" else rf"(?i)\b{kind}s? (?:\w+ and )?{number}(?!\w)"
    around = 4 if kind == "equation" else 0  # lines before and after, which say what an equation is about
    rows = [row for row, line in enumerate(lines) if re.search(pattern, line.strip())]
    return "\n".join("\n".join(lines[max(0, row - around) : row + around + 1]) for row in rows) or None


@pytest.fixture(scope="module")
def texts(shared_data: Path) -> dict[str, str]:
    folder = shared_data.parent / "papers" / "text"
    if not folder.is_dir():
        pytest.skip(f"no papers at {folder}")
    return {paper: (folder / f"{paper}.txt").read_text(encoding="utf-8") for paper in PAPERS}


def test_a_cited_place_is_in_its_paper_and_about_what_is_cited(repo_root: Path, texts: dict[str, str]) -> None:
    wrong = []
    for where, paper, place, context in citations(repo_root):
        if paper is None:
            continue
        if place_text(texts[paper], place) is None:
            wrong.append(f"{where}: {paper} has no {place}")
            continue
        table = {key: topics.split(", ") for key, topics in TOPICS[paper].items()}
        stated = {key for key in table if any(topic.partition("=")[0].lower() in context for topic in table[key])}
        if " " not in place:
            agrees = place in stated  # a section is cited for something
        else:  # a table may be cited by its number alone, and not for what another table is about
            agrees = not context or place not in table or place in stated or not any(" " in key for key in stated)
        if not agrees:
            wrong.append(f"{where}: {place} of {paper} is about {table.get(place)}; cited by {context!r}")
    assert not wrong, "\n".join(wrong)


def test_each_topic_is_in_the_text_of_its_place(texts: dict[str, str]) -> None:
    for paper, table in TOPICS.items():
        for place, topics in table.items():
            body = place_text(texts[paper], place)
            assert body is not None, f"{paper} has no {place}"
            for topic in topics.split(", "):
                assert topic.rpartition("=")[2].lower() in body.lower(), f"{place} of {paper} has no {topic!r}"


def test_lists_and_ranges_of_numbers_are_taken_apart() -> None:
    match = CITATION.search("Tables 3 to 5, 7 and 10 of")
    assert match is not None
    assert list(places(match["kind"], match["numbers"])) == [f"table {number}" for number in (3, 4, 5, 7, 10)]
    assert list(places("section", "III-A)")) == ["III-A"]
