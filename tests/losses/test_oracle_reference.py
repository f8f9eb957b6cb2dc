"""DREAM, MEAT and ORACLE against the reference numbers, and against paper and pencil."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from xsent.batch import Parts
from xsent.losses import discriminator_loss, dream_terms, meat_terms, oracle_terms, weighted_sum
from xsent.losses.dream import DreamSide, with_half_batch, with_partners
from xsent.losses.oracle import VARIANTS, OracleTerms
from xsent.losses.partners import any_partner, next_of_label, same_language_partners

paper = partial(oracle_terms, variant="paper", pairs="off_diagonal", same_language=True)
TOLERANCE: dict[str, Any] = {"rtol": 0, "atol": 1e-8}


class Reference:
    def __init__(self, path: Path) -> None:
        self.expected = json.loads(path.read_text())
        self.inputs = {
            name: torch.tensor(value, dtype=torch.int64 if name.startswith("y_") else torch.float64)
            for name, value in self.expected["inputs"].items()
        }

    def heads(self, embeddings: Tensor) -> Parts:
        i = self.inputs
        return Parts(embeddings @ i["W_m"].T + i["b_m"], embeddings @ i["W_l"].T + i["b_l"])

    def side(self, side: str) -> tuple[Parts, Tensor, Tensor, Tensor]:
        embeddings = self.inputs[f"E_{side}"]
        parts = self.heads(embeddings)
        logits = parts.language @ self.inputs["W_i"].T + self.inputs["b_i"]
        return parts, embeddings, logits, self.inputs[f"y_{side}"]

    def discriminate(self, meaning: Tensor) -> Tensor:
        return meaning @ self.inputs["W_d"].T + self.inputs["b_d"]


@pytest.fixture(scope="module")
def reference(fixtures_dir: Path) -> Reference:
    return Reference(fixtures_dir / "oracle_losses.json")


def close(value: Tensor, expected: float) -> None:
    torch.testing.assert_close(value, torch.tensor(expected, dtype=value.dtype), **TOLERANCE)


def test_dream_with_explicit_partners_equals_the_reference(reference: Reference) -> None:
    sides = []
    for side in "st":
        parts, embeddings, logits, lang = reference.side(side)
        random_meaning = reference.heads(reference.inputs[f"R_{side}"]).meaning
        random_language = reference.heads(reference.inputs[f"RL_{side}"]).language
        everyone = torch.ones(len(lang), dtype=torch.bool)
        sides.append(DreamSide(parts, embeddings, logits, lang, random_meaning, random_language, everyone))
    terms = dream_terms(*sides)
    e = reference.expected["dream_original_pairing"]
    close(terms.meaning, e["L_S_pos"] + e["L_S_neg_src"] + e["L_S_neg_tgt"])
    close(terms.reconstruction, e["L_R_src"] + e["L_R_tgt"])
    close(terms.language_embedding, e["L_Lm_src"] + e["L_Lm_tgt"])
    close(terms.language_identification, e["L_Li_src"] + e["L_Li_tgt"])
    close(weighted_sum(terms, dict.fromkeys(terms._fields, 1.0)), e["total"])


def test_dream_by_half_batches_equals_the_release(reference: Reference) -> None:
    terms = dream_terms(*(with_half_batch(*reference.side(side)) for side in "st"))
    released = reference.expected["dream_half_batch"]["released"]
    close(terms.meaning, released["meaning_embedding_loss"])
    close(terms.reconstruction, released["reconstruction_loss"])
    close(terms.language_embedding, released["language_embedding_loss"])
    close(terms.language_identification, released["language_identification_loss"])


def test_meat_equals_the_release(reference: Reference) -> None:
    (source, source_embeddings, *_), (target, target_embeddings, *_) = map(reference.side, "st")
    logits = [reference.discriminate(side.meaning) for side in (source, target)]
    terms = meat_terms(source, target, source_embeddings, target_embeddings, *logits)
    released = reference.expected["meat"]["released"]
    close(terms.reconstruction, released["reconstruction_loss"])
    close(terms.cross_reconstruction, released["cross_reconstruction_loss"])
    close(terms.language_embedding, released["language_embedding_loss"])
    close(terms.adversarial, released["adversarial_loss"])
    close(weighted_sum(terms, dict.fromkeys(terms._fields, 1.0)), released["loss"])


def test_the_discriminator_equals_the_release(reference: Reference) -> None:
    (source, _, _, y_s), (target, _, _, y_t) = map(reference.side, "st")
    loss = discriminator_loss(reference.discriminate(source.meaning), reference.discriminate(target.meaning), y_s, y_t)
    close(loss, reference.expected["meat_discriminator"]["released"])


def oracle(reference: Reference, **reading: Any) -> OracleTerms:
    (source, _, _, y_s), (target, _, _, y_t) = map(reference.side, "st")
    return paper(source, target, y_s, y_t, **{"same_language": False, **reading})


@pytest.mark.parametrize(
    ("key", "reading"),
    [
        ("L_IC_all_pairs_offdiag(default)", {}),
        ("L_IC_with_diagonal", {"pairs": "with_diagonal"}),
        ("L_IC_cyclic_partner", {"pairs": "cyclic"}),
        ("L_IC_offdiag_target_restricted_to_same_language", {"same_language": True}),
    ],
)
def test_every_reading_of_equation_5_equals_the_reference(
    reference: Reference, key: str, reading: dict[str, Any]
) -> None:
    terms = oracle(reference, **reading)
    close(terms.intra_class, reference.expected["oracle_paper"][key])
    close(terms.inter_class, reference.expected["oracle_paper"]["L_IS"])


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_released_variant_equals_the_release(reference: Reference, variant: str) -> None:
    terms = oracle(reference, variant=variant)
    expected = reference.expected["oracle_released_variants"]["numpy"][variant]
    close(terms.intra_class + terms.inter_class, expected["oracle_loss"])
    if "intra" in expected:
        close(terms.intra_class, expected["intra"])
        close(terms.inter_class, expected["inter"])
    for host in ("dream", "meat"):
        released = reference.expected["oracle_released_variants"][f"released_on_{host}"][variant]
        close(terms.intra_class + terms.inter_class, released["oracle_loss"])


# ---- paper and pencil, properties


def test_two_orthogonal_language_vectors_scatter_by_2_without_and_1_with_the_diagonal() -> None:
    eye, lang = torch.eye(2, dtype=torch.float64), torch.zeros(2, dtype=torch.int64)
    parts = Parts(eye, eye)
    for pairs, expected in [("off_diagonal", 2.0), ("with_diagonal", 1.0), ("cyclic", 2.0)]:
        terms = paper(parts, parts, lang, lang, pairs=pairs, same_language=False)
        close(terms.intra_class, expected)


def test_a_language_that_occurs_once_is_skipped() -> None:
    vectors = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    parts, lang = Parts(vectors, vectors), torch.tensor([0, 0, 1])
    for pairs in ("off_diagonal", "cyclic"):
        terms = paper(parts, parts, lang, lang, pairs=pairs)
        close(terms.intra_class, 0.0)
    alone = torch.tensor([0, 1, 2])
    terms = paper(parts, parts, alone, alone)
    close(terms.intra_class, 0.0)


def naive_scatter(language: Tensor, lang: Tensor) -> Tensor:
    u = language / language.norm(dim=1, keepdim=True)
    cosines = u @ u.T
    compared = (lang[:, None] == lang[None, :]) & ~torch.eye(len(lang), dtype=torch.bool)
    return (1 - cosines[compared]).mean()


def test_the_sum_of_unit_vectors_equals_the_matrix_of_cosines_in_value_and_gradient() -> None:
    torch.manual_seed(0)
    language = torch.randn(12, 5, dtype=torch.float64, requires_grad=True)
    meaning = torch.randn(12, 5, dtype=torch.float64)
    lang = torch.arange(12) % 3
    parts = Parts(meaning, language)
    terms = paper(parts, parts, lang, lang)
    expected = 2 * naive_scatter(language, lang)
    torch.testing.assert_close(terms.intra_class, expected)
    (found_gradient,) = torch.autograd.grad(terms.intra_class, language, retain_graph=True)
    (expected_gradient,) = torch.autograd.grad(expected, language)
    assert expected_gradient.abs().max() > 0
    torch.testing.assert_close(found_gradient, expected_gradient)


def test_the_order_of_the_pairs_does_not_matter() -> None:
    torch.manual_seed(0)
    source, target = Parts(*torch.randn(2, 9, 4)), Parts(*torch.randn(2, 9, 4))
    lang, order = torch.arange(9) % 2, torch.randperm(9)
    shuffled = [Parts(*(x[order] for x in side)) for side in (source, target)]
    torch.testing.assert_close(paper(source, target, lang, lang), paper(*shuffled, lang[order], lang[order]))


def test_zero_vectors_give_finite_terms_and_gradients() -> None:
    zeros = torch.zeros(4, 3, requires_grad=True)
    parts, lang = Parts(zeros, zeros), torch.zeros(4, dtype=torch.int64)
    for variant in ("paper", *VARIANTS):
        terms = paper(parts, parts, lang, lang, variant=variant)
        (gradient,) = torch.autograd.grad(sum(terms), zeros, allow_unused=True)
        assert all(torch.isfinite(term) for term in terms)
        assert gradient is None or torch.isfinite(gradient).all()


def test_the_adversarial_term_is_least_at_2_log_l_for_uniform_logits() -> None:
    ones = Parts(torch.ones(3, 2), torch.ones(3, 2))
    terms = meat_terms(ones, ones, torch.ones(3, 2), torch.ones(3, 2), torch.zeros(3, 5), torch.zeros(3, 5))
    assert terms.adversarial.item() == pytest.approx(2 * math.log(5), rel=1e-6)


@pytest.mark.parametrize(("name", "value"), [("variant", "oracel_new"), ("pairs", "diagonal")])
def test_an_unknown_name_is_answered_with_the_known_ones(name: str, value: str) -> None:
    parts, lang = Parts(torch.ones(2, 2), torch.ones(2, 2)), torch.zeros(2, dtype=torch.int64)
    with pytest.raises(ValueError, match=f"{value}.*expected one of"):
        paper(parts, parts, lang, lang, **{name: value})


# ---- partners


@pytest.mark.parametrize("size", [2, 3, 17])
def test_a_random_partner_is_never_the_pair_itself(size: int) -> None:
    partner = any_partner(size, torch.Generator().manual_seed(0), torch.device("cpu"))
    assert (partner != torch.arange(size)).all()
    assert partner.sort().values.tolist() == list(range(size))


def test_a_same_language_partner_has_the_label_and_is_oneself_only_when_alone() -> None:
    lang = torch.tensor([0, 1, 0, 2, 1, 0, 1])
    for seed in range(20):
        partner = same_language_partners(lang, torch.Generator().manual_seed(seed))
        assert (lang[partner] == lang).all()
        assert (partner == torch.arange(7)).tolist() == [False, False, False, True, False, False, False]


def test_the_next_of_a_label_goes_around_its_ring() -> None:
    assert next_of_label(torch.tensor([5, 3, 5, 3, 5])).tolist() == [2, 3, 4, 1, 0]


def test_partners_within_the_batch_are_rows_of_the_batch() -> None:
    torch.manual_seed(0)
    parts, lang = Parts(*torch.randn(2, 4, 3)), torch.tensor([0, 0, 1, 2])
    meaning, language = torch.tensor([1, 2, 3, 0]), torch.tensor([1, 0, 2, 3])
    side = with_partners(parts, *torch.zeros(2, 4, 3), lang, meaning=meaning, language=language)
    assert side.has_random_language.tolist() == [True, True, False, False]
    torch.testing.assert_close(side.random_meaning[0], parts.meaning[1])


# ---- weights


def test_a_term_of_weight_0_contributes_nothing_not_even_a_nan() -> None:
    terms = OracleTerms(torch.tensor(2.0), torch.tensor(float("nan")))
    assert weighted_sum(terms, {"intra_class": 3.0, "inter_class": 0.0}).item() == 6.0


def test_a_misspelt_weight_is_an_error_that_names_the_terms() -> None:
    with pytest.raises(ValueError, match=r"inter_clas.*the loss has.*inter_class"):
        weighted_sum(OracleTerms(torch.ones(()), torch.ones(())), {"intra_class": 1.0, "inter_clas": 1.0})
