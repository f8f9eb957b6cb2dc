"""Noise robustness: metrics by hand and reference numbers."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.evaluation.builders import builder
from xsent.data.readers.ugc import UgcSet
from xsent.evaluation.charts import BoxPlot, Scatter
from xsent.evaluation.noise.charts import LabelledVector, sentence_map
from xsent.evaluation.noise.evaluator import UgcEvaluator

Table = Mapping[str, Sequence[float]]  # vectors by text


class TableEmbedder:
    """Encoder with a table of vectors."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.encoded: list[list[str]] = []

    def encode(self, sentences: Sequence[str], *, show_progress: bool = False) -> Tensor:
        self.encoded.append(list(sentences))
        return torch.tensor([self.table[text] for text in sentences], dtype=torch.float32)

    def digest(self) -> str:
        return hashlib.sha256(repr(self.table).encode()).hexdigest()


class LetterEmbedder(TableEmbedder):
    """Encoder whose tokens are letters."""

    name = "letters"

    def to_pieces(self, sentences: Sequence[str]) -> list[list[str]]:
        return [list(sentence) for sentence in sentences]


class SizedEmbedder(TableEmbedder):
    """Encoder with a known embedding size."""

    dim = 3


ugc = builder(
    UgcEvaluator,
    name="ugc",
    margin="absolute",
    k=1,
    candidates="knn",
    drift=True,
    bitexts=True,
    lower_case=True,
    pieces="teacher",
    picture_set=None,
    picture_line=1,
)


def make_evaluator(*sets: UgcSet, teacher: TableEmbedder | None = None, **changes: Any) -> UgcEvaluator:
    evaluator: UgcEvaluator = ugc(*sets, teacher=None if teacher is None else lambda: teacher, **changes)
    evaluator.check()
    return evaluator


def metrics(evaluator: UgcEvaluator, table: Table) -> dict[str, float]:
    return evaluator(TableEmbedder(table).encode)


def noisy_set(seed: int | None = None, *, noisy: Sequence[str] = ("u", "2", "ok"), **changes: Any) -> UgcSet:
    return replace(UgcSet("set", seed, list(noisy), ["you", "two", "ok"], {}, [], {}, "eng"), **changes)


# Cosine distances: u and you 1, 2 and two 1 - 0.6 = 0.4, ok and ok 0.
STUDENT: Table = {"you": (1, 0), "two": (0, 1), "ok": (-1, 0), "u": (0, 2), "2": (0.8, 0.6)}


def test_distances_and_errors_by_hand() -> None:
    # u equals two, and 2 is nearer to you (0.8) than to two (0.6): both are wrong. ok is right.
    result = metrics(make_evaluator(noisy_set()), STUDENT)
    assert result["ugc/set/cosine_distance"] == pytest.approx(1.4 / 3)
    assert result["ugc/set/xsim"] == pytest.approx(100 * 2 / 3)
    assert "ugc/set/xsimpp" not in result  # there are no negatives
    assert (result["ugc/set/ttr"], result["ugc/set/ttr_standard"], result["ugc/set/ttr_ratio"]) == (100, 100, 1)
    assert not [name for name in result if "teacher" in name or "drift" in name or "/p_" in name]


def test_negatives_of_the_standard_side_are_in_the_pool() -> None:
    noisy = noisy_set(augmented=["too", "no"], made_from={"too": ("two", "x"), "no": ("ok", "x")})
    # Among standard sentences all are right; 2 equals the negative of two. ok ties with its negative: the first wins.
    result = metrics(make_evaluator(noisy), STUDENT | {"u": (3, 0), "2": (1, 2), "too": (1, 2), "no": (-1, 0)})
    assert result["ugc/set/xsim"] == 0
    assert result["ugc/set/xsimpp"] == pytest.approx(100 / 3)


def test_errors_equal_those_of_the_release(reference: dict[str, Any]) -> None:
    expected = reference["xsim_plus_plus"]
    names = [[f"{side} {i}" for i in range(n)] for side, n in [("noisy", 20), ("standard", 20), ("negative", 30)]]
    vectors = [*reference["inputs"]["x"], *reference["inputs"]["y"], *expected["augmented_y"]]
    table = dict(zip([text for column in names for text in column], vectors, strict=True))
    made_from = dict.fromkeys(names[2], (names[1][0], "x"))
    noisy = noisy_set(noisy=names[0], standard=names[1], augmented=names[2], made_from=made_from)
    result = metrics(make_evaluator(noisy, margin="ratio", k=4), table)
    assert result["ugc/set/xsim"] == pytest.approx(100 * reference["xsim"]["ratio"]["released_errors"] / 20)
    assert result["ugc/set/xsimpp"] == pytest.approx(100 * expected["errors"] / 20)
    assert result["ugc/set/cosine_distance"] == pytest.approx(reference["average_pairwise_cosine_distance"], abs=1e-6)


# ---- a teacher

TEACHER: Table = {"you": (1, 0), "two": (0, 1), "ok": (0, -1), "u": (1, 0), "2": (1, 0)}


def test_the_teacher_has_separate_metrics_and_drift_is_the_distance_between_both() -> None:
    result = metrics(make_evaluator(noisy_set(), teacher=TableEmbedder(TEACHER)), STUDENT)
    # u and 2 equal you, so 2 is 90 degrees from two; ok equals ok.
    assert result["ugc/set/teacher_cosine_distance"] == pytest.approx(1 / 3)
    assert result["ugc/set/teacher_xsim"] == pytest.approx(100 / 3)
    assert result["ugc/set/xsim"] == pytest.approx(100 * 2 / 3)
    # you and two have equal vectors, those of ok are 90 degrees apart.
    assert result["ugc/set/drift"] == pytest.approx(1 / 3)


def test_tokens_are_pieces_of_the_teacher_or_of_the_scored_encoder() -> None:
    # u, 2, o, k: 4 of 4; y, o, u, t, w, o, o, k: 6 of 8.
    letters = {"ttr": 100, "ttr_standard": 75, "tokens": 4, "types_standard": 6, "tokens_standard": 8}
    with_teacher = metrics(make_evaluator(noisy_set(), teacher=LetterEmbedder(TEACHER)), STUDENT)
    assert {name: with_teacher[f"ugc/set/{name}"] for name in letters} == letters
    evaluator = make_evaluator(noisy_set())
    evaluator.bind_encoder(LetterEmbedder(STUDENT))
    assert {name: metrics(evaluator, STUDENT)[f"ugc/set/{name}"] for name in letters} == letters
    evaluator.bind_encoder(TableEmbedder(STUDENT))  # words again
    assert metrics(evaluator, STUDENT)["ugc/set/tokens"] == 3


BITEXT = noisy_set(translations={"deu": ["du", "zwei", "ok!"]})
GERMAN: Table = {"du": (1, 0), "zwei": (0, 1), "ok!": (0, -1)}


def test_the_teacher_embeds_translations_and_the_scored_encoder_english() -> None:
    teacher = TableEmbedder({**TEACHER, **GERMAN})
    result = metrics(make_evaluator(BITEXT, teacher=teacher), STUDENT)  # the student has no German vectors
    # German to noisy: du (1, 0) finds 2 (0.8), zwei (0, 1) finds u (1), ok! (0, -1) is 90 degrees from ok, the best: 2
    # of 3 wrong. To standard: du you, zwei two, and ok! (0, -1) has you and ok at 0, and takes the lower row: 1 wrong.
    assert result["ugc/set_deu-eng/noisy_xsim"] == pytest.approx(100 * 2 / 3)
    assert result["ugc/set_deu-eng/standard_xsim"] == pytest.approx(100 / 3)
    # Noisy to German: u finds zwei, 2 (0.8, 0.6) finds du, ok (-1, 0) has zwei and ok! at 0: the lower row. All wrong.
    assert result["ugc/set_eng-deu/noisy_xsim"] == pytest.approx(100)
    assert result["ugc/set_eng-deu/standard_xsim"] == pytest.approx(100 / 3)
    # For the teacher every standard sentence equals its translation.
    assert result["ugc/set_deu-eng/teacher_standard_xsim"] == result["ugc/set_eng-deu/teacher_standard_xsim"] == 0


def test_without_a_teacher_the_scored_encoder_embeds_the_translations() -> None:
    result = metrics(make_evaluator(BITEXT), {**TEACHER, **GERMAN})
    assert result["ugc/set_deu-eng/standard_xsim"] == 0
    assert "ugc/set_deu-eng/noisy_xsim" in result


def test_bitexts_are_named_by_the_language_of_the_standard_side() -> None:
    swapped = noisy_set(translations={"eng": ["du", "zwei", "ok!"]}, language="deu")
    assert "ugc/set_eng-deu/noisy_xsim" in metrics(make_evaluator(swapped), {**TEACHER, **GERMAN})


def test_without_bitexts_translations_are_not_embedded() -> None:
    result = metrics(make_evaluator(BITEXT, bitexts=False, teacher=TableEmbedder(TEACHER)), STUDENT)
    assert not [name for name in result if "deu" in name]


def test_the_teacher_encodes_each_text_once() -> None:
    teacher = TableEmbedder(TEACHER)
    evaluator = make_evaluator(noisy_set(1), noisy_set(2, noisy=["u", "u", "ok"]), teacher=teacher)
    assert teacher.encoded == []
    assert metrics(evaluator, STUDENT) == metrics(evaluator, STUDENT)
    assert [sorted(texts) for texts in teacher.encoded] == [sorted({"u", "2", "ok", "you", "two"})]
    assert sorted(evaluator.sentences()) == sorted({"u", "2", "ok", "you", "two"})


WIDE: Table = {text: (*vector, 0) for text, vector in TEACHER.items()}


def test_vectors_of_two_sizes_cannot_be_compared() -> None:
    sized, unsized = SizedEmbedder(WIDE), TableEmbedder(WIDE)
    for teacher in (sized, unsized):
        with pytest.raises(ValueError, match=r"vectors have 2 numbers, the teacher's 3; .* evaluator.drift=false"):
            metrics(make_evaluator(noisy_set(), teacher=teacher), STUDENT)
    assert (len(sized.encoded), len(unsized.encoded)) == (0, 1)


def test_vectors_of_two_sizes_are_scored_without_comparison() -> None:
    evaluator = make_evaluator(noisy_set(), teacher=SizedEmbedder(WIDE), drift=False, picture_set="set")
    result = metrics(evaluator, STUDENT)
    assert result["ugc/set/teacher_xsim"] == pytest.approx(100 / 3)
    assert "ugc/set/drift" not in result


# ---- generations


def test_generations_are_averaged_and_tested_against_the_teachers() -> None:
    sets = noisy_set(1), noisy_set(2, noisy=["you", "two", "ok"])  # the second has no noise: all metrics are 0
    result = metrics(make_evaluator(*sets, teacher=TableEmbedder(TEACHER)), STUDENT)
    # Student 200/3 and 0, teacher 100/3 and 0.
    assert result["ugc/set/xsim"] == pytest.approx(100 / 3)
    assert result["ugc/set/sd_xsim"] == pytest.approx(200 / 3 / math.sqrt(2))
    assert result["ugc/set/teacher_xsim"] == pytest.approx(100 / 6)
    # In units of 100/3: means 1 and 0.5, variances 2 and 0.5, t = 0.5 / sqrt(2.5 / 2), 2 degrees of freedom.
    t = 0.5 / math.sqrt(1.25)
    assert result["ugc/set/p_xsim"] == pytest.approx(1 - t / math.sqrt(t**2 + 2))
    assert {"ugc/set/p_cosine_distance", "ugc/set/p_ttr", "ugc/set/sd_teacher_cosine_distance"} <= result.keys()


def test_constant_generations_have_a_p_of_0_or_1() -> None:
    result = metrics(make_evaluator(noisy_set(1), noisy_set(2), teacher=TableEmbedder(TEACHER)), STUDENT)
    assert (result["ugc/set/p_xsim"], result["ugc/set/sd_xsim"]) == (0, 0)
    result = metrics(make_evaluator(noisy_set(1), noisy_set(2), teacher=TableEmbedder(TEACHER)), TEACHER)
    assert result["ugc/set/p_xsim"] == result["ugc/set/p_cosine_distance"] == 1


def test_details_have_the_scores_of_every_generation() -> None:
    sets = noisy_set(1), noisy_set(2, noisy=["you", "two", "ok"]), noisy_set(name="other", translations={})
    evaluator = make_evaluator(*sets, teacher=TableEmbedder(TEACHER))
    details = evaluator.score(TableEmbedder(STUDENT).encode(evaluator.sentences())).details
    rows = [(row["set"], row["seed"], row["vectors_of"], row["xsim"], row["unchanged"]) for row in details]
    third, two_thirds = pytest.approx(100 / 3), pytest.approx(200 / 3)
    assert rows == [
        ("set", 1, "student", two_thirds, 1),
        ("set", 2, "student", 0, 3),
        ("other", None, "student", two_thirds, 1),
        ("set", 1, "teacher", third, 1),
        ("set", 2, "teacher", 0, 3),
        ("other", None, "teacher", third, 1),
    ]
    assert {row["ttr_of"] for row in details} == {"words"}


def test_the_digest_depends_on_sentences_negatives_and_order() -> None:
    variants = [
        noisy_set(noisy=["2", "u", "ok"]),
        noisy_set(augmented=["no"], made_from={"no": ("ok", "x")}),
        noisy_set(3),
        noisy_set(translations={"deu": ["a", "b", "c"]}),
        noisy_set(language="deu"),
    ]
    digests = [make_evaluator(evaluator).digest() for evaluator in (noisy_set(), *variants)]
    assert len(set(digests)) == len(digests)
    assert make_evaluator(noisy_set()).digest() == digests[0]


# ---- charts


def charts(evaluator: UgcEvaluator, table: Table) -> dict[str, Any]:
    return {chart.name: chart for chart in evaluator.score(TableEmbedder(table).encode(evaluator.sentences())).charts}


def test_box_plots_have_distances_of_all_generations_and_xsimpp_of_each() -> None:
    negatives = {"augmented": ["no"], "made_from": {"no": ("ok", "x")}}
    sets = [
        noisy_set(seed, noisy=noisy, **negatives) for seed, noisy in [(1, ("u", "2", "ok")), (2, ("you", "u", "ok"))]
    ]
    natural = noisy_set(name="natural")
    result = charts(
        make_evaluator(*sets, natural, teacher=TableEmbedder(TEACHER | {"no": (0, 1)})), STUDENT | {"no": (1, 0)}
    )
    distances, errors = result["ugc_cosine_distance"], result["ugc_xsimpp"]
    assert isinstance(distances, BoxPlot)
    assert list(distances.groups) == ["set", "natural"]
    assert distances.groups["set"]["student"].tolist() == pytest.approx([1, 0.4, 0, 0, 0, 0], abs=1e-7)
    assert distances.groups["natural"]["teacher"].tolist() == pytest.approx([0, 1, 0], abs=1e-7)
    assert list(errors.groups) == ["set"]  # the natural set has one generation
    assert len(errors.groups["set"]["teacher"]) == 2


def test_charts_of_transformations_per_sentence_and_of_tokens() -> None:
    mixed = noisy_set(1, step_counts=[0, 0, 2]), noisy_set(2, step_counts=[1, 0, 0])
    result = charts(make_evaluator(*mixed, noisy_set(name="single", step_counts=[1, 1, 1])), STUDENT)
    (panel,) = result["ugc_transformations"].panels
    assert (panel.title, panel.values["sentences"].tolist()) == ("set, 66.67 % with none", [0, 0, 2, 1, 0, 0])
    assert result["ugc_transformations"].edges.tolist() == [-0.5, 0.5, 1.5, 2.5]
    points = result["ugc_tokens"].points
    assert [(point.x, point.y, point.label) for point in points] == [(1, 1, "set 1.00"), (1, 1, "single 1.00")]


def test_the_chart_of_a_sentence_has_vectors_of_both_encoders() -> None:
    evaluator = make_evaluator(BITEXT, teacher=TableEmbedder({**TEACHER, **GERMAN}), picture_set="set", picture_line=3)
    picture = charts(evaluator, STUDENT)["ugc_sentence"]
    assert isinstance(picture, Scatter)
    assert [(point.kind, point.label) for point in picture.points] == [
        ("noisy, student", ""),
        ("standard, student", ""),
        ("noisy, teacher", ""),
        ("standard, teacher", ""),
        ("translation, teacher", "deu"),
    ]
    assert "ok" in picture.note


def test_a_missing_set_has_no_chart_and_a_missing_line_is_an_error() -> None:
    assert "ugc_sentence" not in charts(make_evaluator(noisy_set(), picture_set="rocsmt"), STUDENT)
    with pytest.raises(ValueError, match=r"evaluator.picture_line=4: set has 3 pairs"):
        make_evaluator(noisy_set(), picture_set="set", picture_line=4)


def test_the_projection_of_vectors_in_a_plane_keeps_their_distances() -> None:
    # Unit vectors at 0, 90 and 180 degrees have distances sqrt 2, sqrt 2 and 2.
    vectors = torch.tensor([[3.0, 0, 0], [0, 2, 0], [-1, 0, 0]]).double().numpy()
    picture = sentence_map("n", "t", "text", [LabelledVector("kind", str(i), row) for i, row in enumerate(vectors)])
    a, b, c = ((point.x, point.y) for point in picture.points)
    assert [math.dist(a, b), math.dist(b, c), math.dist(a, c)] == pytest.approx([math.sqrt(2), math.sqrt(2), 2])
    assert picture.note == "text\n100 % of the variance; Spearman of the distances 1.00"


@pytest.mark.parametrize("vector", [(1.0, 0.0), (0.0, 0.0)])
def test_equal_vectors_have_a_chart_with_one_point(vector: tuple[float, float]) -> None:
    row = torch.tensor(vector).double().numpy()
    picture = sentence_map("n", "t", "text", [LabelledVector("noisy", "", row), LabelledVector("standard", "", row)])
    assert picture.note == "text\none point"
    assert [(point.x, point.y) for point in picture.points] == [(0, 0), (0, 0)]


# ---- options


@pytest.mark.parametrize(
    ("option", "value"), [("margin", "ration"), ("candidates", "any"), ("k", 0), ("picture_line", 0)]
)
def test_invalid_options_are_errors(option: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"evaluator.{option}={value}"):
        make_evaluator(noisy_set(), **{option: value})
