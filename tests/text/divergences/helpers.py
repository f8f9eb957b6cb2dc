"""Small seed pairs, and a small WordNet in the format of the real one."""

from collections.abc import Sequence
from pathlib import Path

from xsent.text.divergences import AnnotatedPair
from xsent.text.divergences.annotated_pair import check_pair
from xsent.text.divergences.conllu import parse_links


def annotated(
    source: str,
    target: str,
    links: str = "",
    *,
    tags: str = "",
    heads: Sequence[int] | None = None,
    target_tags: str = "",
    key: str = "a",
) -> AnnotatedPair:
    """A valid pair of words split at spaces; without tags all are X, without heads all hang on the first word."""
    words = tuple(source.split())
    pair = AnnotatedPair(
        key=key,
        source=words,
        target=tuple(target.split()),
        tags=tuple(tags.split()) or ("X",) * len(words),
        heads=tuple(heads) if heads is not None else (-1, *[0] * (len(words) - 1)),
        links=parse_links(links, "test"),
        origin="test",
        target_tags=tuple(target_tags.split()),
    )
    check_pair(pair, "test")
    return pair


# entity > animal > dog > poodle > teddy; a bank is an institution or a slope; "ice cream" is no single word.
NOUNS = {
    "entity": (["entity"], None),
    "animal": (["animal", "beast", "living_thing"], "entity"),
    "dog": (["dog", "hound", "ice_cream"], "animal"),
    "poodle": (["poodle", "Fido"], "dog"),
    "teddy": (["teddy"], "poodle"),
    "institution": (["institution"], "entity"),
    "bank.1": (["bank"], "institution"),
    "slope": (["slope"], "entity"),
    "bank.2": (["bank"], "slope"),
}
VERBS = {"move": (["move"], None), "go": (["go"], "move"), "walk": (["walk"], "go")}


def write_wordnet(folder: Path) -> Path:
    """Files of a WordNet with the words above and one adjective, whose tree is empty."""
    folder.mkdir()
    parts = {"noun": ("n", NOUNS), "verb": ("v", VERBS), "adj": ("a", {"weak": (["weak"], None)}), "adv": ("r", {})}
    for part, (letter, synsets) in parts.items():
        data, index = _files(letter, synsets)
        (folder / f"data.{part}").write_text(data, encoding="ascii")
        (folder / f"index.{part}").write_text(index, encoding="ascii")
        (folder / f"{part}.exc").write_text("went go\n" if part == "verb" else "", encoding="ascii")
    return folder


def _files(letter: str, synsets: dict[str, tuple[list[str], str | None]]) -> tuple[str, str]:
    def lines(offsets: dict[str, int]) -> dict[str, str]:
        written = {}
        for name, (lemmas, parent) in synsets.items():
            children = [child for child, (_, above) in synsets.items() if above == name]
            pointers = [("@", parent)] if parent else []
            pointers += [("~", child) for child in children]
            fields = [f"{offsets.get(name, 0):08d} 03 {letter} {len(lemmas):02x}", *(f"{lemma} 0" for lemma in lemmas)]
            fields += [
                f"{len(pointers):03d}",
                *(f"{sign} {offsets.get(to, 0):08d} {letter} 0000" for sign, to in pointers),
            ]
            written[name] = " ".join([*fields, *(["00"] if letter == "v" else []), "| a gloss"]) + "\n"
        return written

    # Offsets have eight digits, so lines are as long with the real ones.
    offsets, at = {}, 0
    for name, line in lines({}).items():
        offsets[name], at = at, at + len(line)
    senses: dict[str, list[int]] = {}
    for name, (lemmas, _) in synsets.items():
        for lemma in lemmas:
            senses.setdefault(lemma.lower(), []).append(offsets[name])
    index = [
        " ".join([lemma, letter, str(len(synsets)), "0", str(len(synsets)), "0", *(f"{at:08d}" for at in synsets)])
        for lemma, synsets in sorted(senses.items())
    ]
    return "".join(lines(offsets).values()), "".join(f"{line}\n" for line in index)
