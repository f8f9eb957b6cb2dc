"""Sample of an evaluator's sentences with their languages, for pictures of the embeddings."""

from collections.abc import Sequence

from xsent.evaluation.dataset_evaluator import PIVOT
from xsent.evaluation.evaluator import Evaluator
from xsent.languages import to_iso639_3

MAX_LANGUAGES = 8  # default of the sample: with English, as many as there are distinct markers


def sample_sentences(
    evaluator: Evaluator, *, languages: Sequence[str] | None, per_language: int
) -> tuple[list[str], list[str]]:
    """Distinct sentences of some translation pairs, both sides, with the language of each.

    Args:
        evaluator: its files are read; one without translation pairs gives nothing.
        languages: of the side that is not English, in any code; None takes the first eight.
        per_language: maximum number of pairs of a test set, at equal distances.

    Returns:
        N sentences and N languages in ISO 639-3.

    Raises:
        ValueError: a requested language has no translation pairs.
    """
    requested = None if languages is None else {to_iso639_3(language) for language in languages}
    bitexts = list(evaluator.translation_sets)
    available = {side for bitext in bitexts for side in (bitext.source_lang, bitext.target_lang)}
    if requested is not None and (absent := requested - available):
        raise ValueError(
            f"pictures.languages: expected languages that the evaluator has translation pairs of"
            f" ({', '.join(sorted(available)) or 'it has none'}), found {', '.join(sorted(absent))} besides"
        )
    sampled: set[str] = set()
    language_of: dict[str, str] = {}
    for bitext in bitexts:
        sides = {bitext.source_lang, bitext.target_lang} - {PIVOT}
        if len(sampled | sides) > MAX_LANGUAGES if requested is None else not sides & requested:
            continue
        sampled |= sides
        count = min(per_language, len(bitext.source))
        for row in (number * len(bitext.source) // count for number in range(count)):
            language_of.setdefault(bitext.source[row], bitext.source_lang)
            language_of.setdefault(bitext.target[row], bitext.target_lang)
    return list(language_of), list(language_of.values())
