import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.test_conf import check_signatures
from xsent.cli import main
from xsent.data.readers.rejects import RejectLedger
from xsent.jobs.synthesis import seeds as seeds_module
from xsent.jobs.synthesis.diverge import DivergeSummary, ParsedFiles, diverge_file, find_inputs
from xsent.jobs.synthesis.seeds import RawPair, options_from, pair_margins, raw_pairs
from xsent.run import build, load_config
from xsent.text.annotation.annotator import Annotation
from xsent.text.divergences import from_json
from xsent.text.divergences.json_format import Divergence

pytest.importorskip("sacremoses", reason="pip install 'xsent[divergence]'")

KINDS = "divergences.kinds=[subtree_deletion,phrase_replacement]"  # those that need no WordNet
# Word, tag, head (from 1, 0 the root) of two sentences that share a sequence of tags.
ENGLISH = {
    "s-1": "The/DT/3 old/JJ/3 cat/NN/4 sleeps/VBZ/0 on/IN/7 the/DT/7 mat/NN/4 ././4",
    "s-2": "A/DT/3 young/JJ/3 dog/NN/4 barks/VBZ/0 at/IN/7 a/DT/7 tree/NN/4 ././4",
}
FRENCH = {"s-1": "Le vieux chat dort sur le tapis .", "s-2": "Un jeune chien aboie contre un arbre ."}
LINKS = "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7"


class ByHand:
    """Tags words by their first letter and makes each depend on the word before it; can fail at a call."""

    def __init__(self, *, die_at: int | None = None, heads: Callable[[int], int] = lambda word: word - 1) -> None:
        self.calls = 0
        self.die_at = die_at
        self.heads = heads

    def annotate(self, sentences: Sequence[tuple[str, ...]], *, progress: bool) -> list[Annotation]:
        self.calls += 1
        if self.calls == self.die_at:
            raise KeyboardInterrupt
        return [Annotation(tuple(word[0] for word in s), tuple(map(self.heads, range(len(s))))) for s in sentences]

    def digest(self) -> str:
        return "by hand"


class InOrder:
    """Links the words of a pair one by one."""

    def align(self, pairs: Sequence[Any], *, progress: bool = False) -> list[tuple[tuple[int, int], ...]]:
        return [tuple((n, n) for n in range(min(len(pair.source), len(pair.target)))) for pair in pairs]

    def digest(self) -> str:
        return "in order"


class Vectors:
    """Vectors of known sentences."""

    def __init__(self, **vectors: list[float]) -> None:
        self.vectors = vectors

    def encode(self, sentences: Sequence[str], *, show_progress: bool = False) -> Tensor:
        return torch.tensor([self.vectors[sentence] for sentence in sentences])

    def digest(self) -> str:
        return "known"


def write_parsed(folder: Path, *, links: bool = True) -> Path:
    folder.mkdir()
    english, french = [], []
    for key, sentence in ENGLISH.items():
        rows = [word.rsplit("/", 2) for word in sentence.split(" ")]
        lines = [f"{n}\t{word}\t_\t_\t{tag}\t_\t{head}\t_\t_\t_" for n, (word, tag, head) in enumerate(rows, 1)]
        english.append("\n".join([f"# sent_id = {key}", "# source = hand", *lines]))
        words = [f"{n}\t{word}\t_\tX\t_\t_\t_\t_\t_\t_" for n, word in enumerate(FRENCH[key].split(" "), 1)]
        french.append("\n".join([f"# sent_id = {key}", *words]))
    (folder / "two.en.conllu").write_text("\n\n".join(english) + "\n\n", encoding="utf-8")
    (folder / "two.fr.conllu").write_text("\n\n".join(french) + "\n\n", encoding="utf-8")
    if links:
        (folder / "two.align").write_text(f"{LINKS}\n{LINKS}\n", encoding="utf-8")
    return folder


def write_bitext(path: Path, lines: int = 7) -> Path:
    """Pairs of 12 words each; the later the line, the better its score."""
    rows = [
        (
            " ".join(f"{w}{line}" for w in "abcdefghijkl"),
            " ".join(f"{w}{line}" for w in "ABCDEFGHIJKL"),
            f"0.{line}",
            "x",
        )
        for line in range(lines)
    ]
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run(inputs: Path, output: Path, *overrides: str, **loaders: Any) -> DivergeSummary:
    config = load_config("diverge", [KINDS, "score_column=3", "origin_column=4", "filter.min_distance=12", *overrides])
    models = {"annotator": ByHand, "aligner": InOrder, "encoder": Vectors}
    load = {"divergences": partial(build, config["divergences"], "divergences")} | models | loaders
    return diverge_file(
        find(inputs), output, load=load, options=options_from(config), config=config, work_dir=None, keep_work=False
    )


def find(inputs: Path | None, **named: Path) -> Path | ParsedFiles:
    names = {"source_conllu": None, "target_conllu": None, "align": None} | named
    return find_inputs(inputs, **names, source_lang="eng", target_lang="fra")


def records(path: Path) -> list[Divergence]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [from_json(line, f"{path}:{number}") for number, line in enumerate(lines, 1)]


def read_summary(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "out.jsonl.summary.json").read_text(encoding="utf-8"))
    return content


# ---- annotated pairs


def test_every_seed_is_written_and_its_divergences_after_it(tmp_path: Path) -> None:
    summary = run(write_parsed(tmp_path / "in"), tmp_path / "out.jsonl")
    results = records(tmp_path / "out.jsonl")
    assert [record.kind for record in results] == ["seed", "subtree_deletion", "phrase_replacement"] * 2
    assert [record.seed for record in results] == ["s-1"] * 3 + ["s-2"] * 3
    assert {record.origin for record in results} == {"hand"}
    assert " ".join(results[0].target) == FRENCH["s-1"]
    assert (summary.seeds, summary.divergences) == (2, {"subtree_deletion": 2, "phrase_replacement": 2})
    assert str(summary).startswith("2 seeds, 4 divergences (phrase_replacement 2, subtree_deletion 2), 0 not possible")


def test_the_summary_lists_inputs_config_and_versions(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "in")
    run(folder, tmp_path / "out.jsonl", "seed=7")
    content = read_summary(tmp_path)
    assert content["divergences"] == {"phrase_replacement": 2, "subtree_deletion": 2}
    assert content["failures"] == {}
    assert [Path(path).name for path in content["made_from"]] == ["two.en.conllu", "two.fr.conllu", "two.align"]
    assert content["config"]["divergences"]["seed"] == 7
    unused = {"filter", "seeds", "annotator", "target_annotator", "encoder", "aligner", "score_column"}
    assert not unused & content["config"].keys()
    assert {"python", "numpy", "torch"} <= content["versions"].keys()


def test_the_same_seed_gives_the_same_file_and_another_seed_another(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "in")
    content = []
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        run(folder, tmp_path / name, f"seed={seed}")
        content.append([(tmp_path / f"{name}{end}").read_bytes() for end in ("", ".summary.json")])
    assert content[0] == content[1]
    assert content[0][0] != content[2][0]


def test_of_annotated_pairs_all_are_used_or_the_first_that_are_asked_for(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "in")
    for name, options, seeds in (
        ("all", [], ["s-1", "s-2"]),
        ("one", ["--seeds", "1"], ["s-1"]),
        ("set", ["--set", "seeds.count=1"], ["s-1"]),
    ):
        output = tmp_path / name
        assert main(["diverge", str(folder), "-o", str(output), "--kinds", "subtree_deletion", *options]) == 0
        assert [record.seed for record in records(output) if record.kind == "seed"] == seeds
        config = json.loads((tmp_path / f"{name}.summary.json").read_text(encoding="utf-8"))["config"]
        assert config.get("seeds") == ({"count": 1} if options else None)


def test_a_named_option_wins_over_the_same_by_set_and_kinds_may_come_first(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "in")
    options = ["--seed", "3", "--aligner", "static", "--set", "seed=4", "--set", "aligner=encoder_argmax"]
    command = ["diverge", "--kinds", "subtree_deletion", str(folder), "-o", str(tmp_path / "out"), *options]
    assert main(command) == 0
    config = json.loads((tmp_path / "out.summary.json").read_text(encoding="utf-8"))["config"]
    assert config["seed"] == config["divergences"]["seed"] == 3
    assert {record.kind for record in records(tmp_path / "out")} == {"seed", "subtree_deletion"}


def test_pairs_without_links_are_aligned(tmp_path: Path) -> None:
    linked, bare = write_parsed(tmp_path / "linked"), write_parsed(tmp_path / "bare", links=False)
    for folder in (linked, bare):
        run(folder, tmp_path / f"{folder.name}.jsonl")
    assert (tmp_path / "linked.jsonl").read_bytes() == (tmp_path / "bare.jsonl").read_bytes()


def test_sides_that_do_not_belong_together_are_named(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "in", links=False)
    french = folder / "two.fr.conllu"
    text = french.read_text(encoding="utf-8")
    french.write_text(text.replace("s-2", "s-3"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"two\.fr\.conllu:\d+: expected sent_id 's-2', as .*, found 's-3'"):
        run(folder, tmp_path / "out.jsonl")
    french.write_text(text.split("\n\n")[0], encoding="utf-8")
    with pytest.raises(ValueError, match=r"two\.fr\.conllu: expected as many sentences as the other files, found 1"):
        run(folder, tmp_path / "out.jsonl")
    french.write_text(text, encoding="utf-8")
    for path in folder.glob("*.conllu"):
        path.write_text(path.read_text(encoding="utf-8").replace("s-2", "s-1"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"two\.en\.conllu:14: expected every sent_id once, found 's-1' again"):
        run(folder, tmp_path / "out.jsonl")
    assert not list(tmp_path.glob("out.jsonl*"))


def test_the_output_may_not_be_one_of_the_files_that_are_read(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "in")
    with pytest.raises(ValueError, match=r"two\.align: expected different files to read and write"):
        run(folder, folder / "two.align")
    assert (folder / "two.align").read_text(encoding="utf-8") == f"{LINKS}\n{LINKS}\n"


# ---- input files


def test_files_are_found_in_a_folder_under_a_prefix_and_by_name(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "in")
    files = ParsedFiles(folder / "two.en.conllu", folder / "two.fr.conllu", folder / "two.align")
    assert find(folder) == find(folder / "two") == files
    assert find(None, source_conllu=files.source, target_conllu=files.target) == files._replace(links=None)
    assert find(folder, align=tmp_path / "mine.align") == files._replace(links=tmp_path / "mine.align")
    bitext = write_bitext(tmp_path / "pairs.tsv")
    assert find(bitext) == bitext


def test_ambiguous_files_are_listed(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "in")
    with pytest.raises(ValueError, match=r"two\.en\.conllu: expected a TSV, or the folder of both sides"):
        find(folder / "two.en.conllu")
    (folder / "extra.align").touch()
    with pytest.raises(ValueError, match=r"one file of links, found extra\.align, two\.align; choose one by --al"):
        find(folder)
    (folder / "extra.en.conllu").touch()
    with pytest.raises(ValueError, match=r"expected one source file .*, found extra\.en\.conllu, two\.en\.conllu; ch"):
        find(folder)
    with pytest.raises(ValueError, match="no IN: expected one source file"):
        find(None)
    with pytest.raises(FileNotFoundError, match="nowhere: expected a TSV of pairs, or a folder or prefix"):
        find(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="expected a folder or nothing beside --source-conllu"):
        find(write_bitext(tmp_path / "pairs.tsv"), align=folder / "two.align")


# ---- a raw bitext


def test_the_best_pairs_by_score_become_seeds_best_first(tmp_path: Path) -> None:
    run(write_bitext(tmp_path / "pairs.tsv"), tmp_path / "out.jsonl", "seeds.count=3")
    results = [record for record in records(tmp_path / "out.jsonl") if record.kind == "seed"]
    assert [record.seed for record in results] == ["pairs.tsv:7", "pairs.tsv:6", "pairs.tsv:5"]
    assert results[0].source[:3] == ("a6", "b6", "c6")
    assert {record.origin for record in results} == {"x"}


def test_every_line_is_counted(tmp_path: Path) -> None:
    path = write_bitext(tmp_path / "pairs.tsv", lines=3)
    twelve = " ".join("abcdefghijkl")
    extra = [
        path.read_text(encoding="utf-8").splitlines()[0],  # repeated
        f"{twelve}\tA B\t1\tx",
        f"{twelve}\t{twelve}\t1\tx",
        f"{twelve.replace('a b', '1 2')}\t{twelve.upper()}\t1\tx",
        f"{twelve}\t{twelve.upper()}\tgood\tx",
        f"{twelve}\t{twelve.upper()}",
        f"{twelve}\t \t1\tx",
    ]
    path.write_text(path.read_text(encoding="utf-8") + "\n".join(extra) + "\n", encoding="utf-8")
    run(path, tmp_path / "out.jsonl", "seeds.count=2")
    content = read_summary(tmp_path)
    filtered = {"too few words on a side": 1, "sides too alike": 1, "too many numbers": 1}
    assert content["lines"] == filtered | {"clean": 3, "repeated": 1, "unreadable": 3, "not among the best": 1}
    rejects = (tmp_path / "out.jsonl.rejects.tsv").read_text(encoding="utf-8").splitlines()
    reasons = {"8": "expected a number in column 3", "9": "expected 4 columns", "10": "empty side"}
    assert dict(row.split("\t")[1:3] for row in rejects[1:]) == reasons


def test_no_two_seeds_share_a_sentence_and_the_better_pair_stays(tmp_path: Path) -> None:
    english, french = (
        ["".join(f"{w}{n} " for w in words) for n in range(3)] for words in ("abcdefghijkl", "ABCDEFGHIJKL")
    )
    rows = [(0, 0, 0.3), (0, 1, 0.9), (1, 1, 0.5), (2, 0, 0.4), (2, 2, 0.2)]
    path = tmp_path / "pairs.tsv"
    text = "".join(f"{english[i]}\t{french[j]}\t{score}\tx\n" for i, j, score in rows)
    path.write_text(text, encoding="utf-8")
    run(path, tmp_path / "out.jsonl")
    # The best, line 2, bars lines 1 and 3. Line 4 comes before line 5, whose English it has.
    seeds = [record.seed for record in records(tmp_path / "out.jsonl") if record.kind == "seed"]
    assert seeds == ["pairs.tsv:2", "pairs.tsv:4"]
    content = read_summary(tmp_path)
    assert content["lines"] == {"clean": 2, "repeated": 3, "not among the best": 0}


def test_divergences_do_not_depend_on_the_name_of_the_file_nor_on_the_order_of_its_lines(tmp_path: Path) -> None:
    path, reversed_path = write_bitext(tmp_path / "pairs.tsv"), tmp_path / "other.tsv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    reversed_path.write_text("".join(lines[::-1]), encoding="utf-8")
    results = []
    for file in (path, reversed_path):
        run(file, tmp_path / f"{file.stem}.jsonl")
        results.append([record._replace(seed="") for record in records(tmp_path / f"{file.stem}.jsonl")])
    assert results[0] == results[1]  # seeds come by their scores


def test_rejects_of_an_earlier_run_do_not_stay(tmp_path: Path) -> None:
    path = write_bitext(tmp_path / "pairs.tsv")
    clean = path.read_text(encoding="utf-8")
    for text, has_rejects in ((f"{clean}odd\n", True), (clean, False)):
        path.write_text(text, encoding="utf-8")
        run(path, tmp_path / "out.jsonl")
        assert (tmp_path / "out.jsonl.rejects.tsv").exists() == has_rejects


def test_a_bitext_without_a_clean_pair_says_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no pair is clean enough for a seed: 7 too many words on a side"):
        run(write_bitext(tmp_path / "pairs.tsv"), tmp_path / "out.jsonl", "filter.max_words=12")
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.tsv"]


def test_a_pair_whose_parse_is_no_tree_is_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def circle(word: int) -> int:
        return 1 - word if word < 2 else word - 1

    with pytest.raises(ValueError, match="expected at least one annotated pair, found none"):
        run(write_bitext(tmp_path / "p.tsv", lines=2), tmp_path / "out.jsonl", annotator=partial(ByHand, heads=circle))
    messages = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert len(messages) == 2
    assert "p.tsv:2: expected one root, found 0" in messages[0]


def test_a_killed_job_continues_where_it_was_and_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds_module, "SHARD", 2)
    path = write_bitext(tmp_path / "pairs.tsv")  # 7 seeds: 4 shards
    run(path, tmp_path / "whole.jsonl")
    with pytest.raises(KeyboardInterrupt):
        run(path, tmp_path / "out.jsonl", annotator=lambda: ByHand(die_at=3))
    assert (tmp_path / "out.jsonl.work").is_dir()
    assert not (tmp_path / "out.jsonl").exists()
    annotator = ByHand()
    run(path, tmp_path / "out.jsonl", annotator=lambda: annotator)
    assert annotator.calls == 2
    for end in ("", ".summary.json"):
        assert (tmp_path / f"out.jsonl{end}").read_bytes() == (tmp_path / f"whole.jsonl{end}").read_bytes()
    assert not (tmp_path / "out.jsonl.work").exists()


def test_target_words_are_tagged_where_a_tagger_is_given(tmp_path: Path) -> None:
    path = write_bitext(tmp_path / "pairs.tsv", lines=40)  # a fair coin shows both its sides
    sides = {}
    for name, loaders in (("source", {}), ("either", {"target_annotator": ByHand})):
        output = tmp_path / f"{name}.jsonl"
        run(path, output, "divergences.kinds=[phrase_replacement]", **loaders)
        sides[name] = {record.side for record in records(output) if record.kind == "phrase_replacement"}
    assert sides == {"source": {"source"}, "either": {"source", "target"}}


def test_a_score_column_beyond_the_file_rejects_every_line(tmp_path: Path) -> None:
    config = load_config("diverge", ["score_column=9"])
    ledger = RejectLedger(strict=False)
    assert not list(raw_pairs(write_bitext(tmp_path / "p.tsv"), options_from(config), ledger))
    assert {(reject.reason, reject.found) for reject in ledger.rejects} == {("expected a number in column 9", "''")}


def margins(cache: Path, pairs: list[tuple[str, str]], embedder: Vectors, *, k: int, margin: str = "ratio") -> Any:
    raw = [RawPair(str(number), *texts, None, "") for number, texts in enumerate(pairs)]
    return pair_margins(raw, embedder, margin=margin, k=k, cache=cache)


def test_margins_equal_a_calculation_by_hand(tmp_path: Path) -> None:
    # Two directions at right angles: cosines 1 and 0, so 2 neighbours have the mean 1/2 on either side.
    vectors = Vectors(a=[1, 0], b=[0, 1], A=[1, 0], B=[0, 1])
    pairs = [("a", "A"), ("b", "B"), ("a", "B")]
    np.testing.assert_allclose(margins(tmp_path, pairs, vectors, k=2), [2, 2, 0], rtol=1e-6)
    np.testing.assert_allclose(margins(tmp_path, pairs, vectors, k=2, margin="distance"), [0.5, 0.5, -0.5], rtol=1e-6)
    np.testing.assert_allclose(margins(tmp_path, pairs, vectors, k=1), [1, 1, 0], rtol=1e-6)


def test_a_sentence_in_many_lines_is_one_neighbour(tmp_path: Path) -> None:
    vectors = Vectors(a=[1, 0], b=[0, 1], A=[1, 0], B=[0, 1])
    pairs = [("a", "A"), ("b", "B")] + [("a", "A")] * 5
    np.testing.assert_allclose(margins(tmp_path, pairs, vectors, k=2), [2] * 7, rtol=1e-6)


# ---- the command


@pytest.mark.parametrize("divergences", ["default", "released"])
def test_the_config_fits_the_signatures(divergences: str) -> None:
    config = load_config("diverge", [f"divergences={divergences}", "ranker=masked_lm"])
    check_signatures({part: config[part] for part in ("annotator", "target_annotator", "divergences", "ranker")})


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["seeds.order=best"], "seeds.order=best: expected one of score, margin, file"),
        (["seeds.order=score"], "seeds.order=score: expected a score_column, found none"),
        (["score_column=3"], "score_column and origin_column are both 3: expected different columns"),
        (["source_column=3", "target_column=4"], "source_column and origin_column are both 3"),
        (["seeds.count=0"], "seeds.count=0: expected an integer of at least 1"),
        (["seeds.margin=cosine"], "seeds.margin=cosine: expected one of absolute, distance, ratio"),
        (["filter.words=letters"], "filter.words=letters: expected one of whitespace, moses"),
        (["source_lang=xx-none"], "unknown language 'xx-none'"),
    ],
)
def test_an_invalid_option_is_reported_with_the_choices(overrides: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        options_from(load_config("diverge", overrides))


def test_the_command_equals_the_job(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "in")
    run(folder, tmp_path / "job.jsonl", "seed=3")
    kinds = ["--kinds", "subtree_deletion,phrase_replacement"]
    assert main(["diverge", str(folder), "-o", str(tmp_path / "out.jsonl"), "--seed", "3", *kinds]) == 0
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "job.jsonl").read_bytes()


@pytest.mark.slow
def test_a_masked_language_model_chooses_words_that_the_seeds_do_not_have(tmp_path: Path) -> None:
    pytest.importorskip("nltk", reason="pip install 'xsent[divergence]'")
    folder = write_parsed(tmp_path / "in")
    model = tiny_masked_lm(tmp_path / "bert", ["feline", "canine"])
    kinds = ["--kinds", "generalization"]
    ranker = ["--ranker", "masked_lm", "--set", f"ranker.path={model}", "--set", "ranker.top=19"]
    try:
        build(load_config("diverge", [])["divergences"]["wordnet"], "word net").load()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert main(["diverge", str(folder), "-o", str(tmp_path / "counted.jsonl"), *kinds]) == 0
    assert main(["diverge", str(folder), "-o", str(tmp_path / "predicted.jsonl"), *kinds, *ranker]) == 0
    assert {record.kind for record in records(tmp_path / "counted.jsonl")} == {"seed"}
    made_from = [
        json.loads((tmp_path / f"{name}.jsonl.summary.json").read_text(encoding="utf-8"))["made_from"].keys()
        for name in ("counted", "predicted")
    ]
    assert made_from[1] - made_from[0] == {"ranker"}
    assert "wordnet" in made_from[0]
    notes = {record.note for record in records(tmp_path / "predicted.jsonl") if record.kind == "generalization"}
    assert notes == {"cat > feline", "dog > canine"}


def tiny_masked_lm(folder: Path, words: list[str]) -> Path:
    """A random BERT that knows a few words, all of which it predicts everywhere."""
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    folder.mkdir()
    sentences = [word.split("/")[0].lower() for sentence in ENGLISH.values() for word in sentence.split(" ")]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *dict.fromkeys(sentences)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    BertForMaskedLM(BertConfig(vocab_size=len(vocabulary), **shape)).save_pretrained(folder)
    return folder


def test_released_takes_the_released_values_of_divergences_and_filter(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "in")
    kinds = ["--kinds", "subtree_deletion"]
    assert main(["diverge", str(folder), "-o", str(tmp_path / "out"), "--divergences", "released", *kinds]) == 0
    config = json.loads((tmp_path / "out.summary.json").read_text(encoding="utf-8"))["config"]
    assert config["divergences"]["deletion"]["allow_half"]
    assert config["divergences"]["links"] == "last"
    assert load_config("diverge", ["divergences=released"])["filter"]["max_numeric_share"] is None


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--kinds", "deletion"], "divergences.kinds=['deletion']: expected some of subtree_deletion, "),
        (["--aligner", "berkeley"], "aligner=berkeley: expected one of encoder_argmax, "),
        (["--set", "divergences.wordnet.folder=nowhere"], "expected WordNet 3.0 in nowhere, found no"),
        (
            ["--kinds", "insert", "--set", "annotator.models=nowhere"],
            "no Stanza models for en (package default) in now",
        ),
    ],
)
def test_errors_are_reported_in_one_line_before_any_work(
    tmp_path: Path, extra: list[str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    for package in ("nltk", "stanza"):
        pytest.importorskip(package, reason="pip install 'xsent[divergence]'")
    path = write_bitext(tmp_path / "pairs.tsv")
    assert main(["diverge", str(path), "-o", str(tmp_path / "out.jsonl"), *extra]) == 1
    assert message in caplog.records[-1].getMessage()
    assert "\n" not in caplog.records[-1].getMessage()
    assert [file.name for file in tmp_path.iterdir()] == ["pairs.tsv"]


def test_real_pairs_are_aligned_and_diverge(tmp_path: Path, shared_data: Path) -> None:
    if not (shared_data / "seeds").is_dir():
        pytest.skip(f"no {shared_data / 'seeds'}")
    for side in ("en", "fr"):
        text = (shared_data / "seeds" / f"seeds.{side}.conllu").read_text(encoding="utf-8")
        (tmp_path / f"few.{side}.conllu").write_text("\n\n".join(text.split("\n\n")[:50]) + "\n", encoding="utf-8")
    kinds = ["subtree_deletion", "phrase_replacement", "uneven", "insert"]
    options = ["--kinds", ",".join(kinds)]
    assert main(["diverge", str(tmp_path / "few"), "-o", str(tmp_path / "out.jsonl"), *options]) == 0
    content = read_summary(tmp_path)
    failed = {kind: sum(reasons.values()) for kind, reasons in content["failures"].items()}
    assert content["seeds"] == 50
    for kind in kinds:
        assert content["divergences"][kind] + failed.get(kind, 0) == 50
    assert len(records(tmp_path / "out.jsonl")) == 50 + sum(content["divergences"].values())
    assert "aligner" in content["made_from"]
