"""Registry of the twelve noise transformations of Nishimwe et al. 2024, by the paper's codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from xsent.text.noise.abbreviation_rules import apply_rules
from xsent.text.noise.abbreviations import abbreviate, toggle_acronyms
from xsent.text.noise.characters import butter_fingers, leet_letters, perturb_whitespace
from xsent.text.noise.slang import insert_slang
from xsent.text.noise.word_substitutions import (
    misspell_words,
    swap_confused_words,
    swap_homophones,
    toggle_contractions,
    toggle_date_forms,
)


class Transformation(NamedTuple):
    """A noise function ``(sentence, rng, *, parameters..., lexicon)``."""

    function: Callable[..., str]
    parameters: tuple[str, ...] = ()  # names of the numeric parameters
    seed_offset: int = 0  # added to the seed by the released script; 0 where nothing is drawn
    has_lexicon: bool = True


# In the order in which the released script draws them.
REGISTRY = {
    "abr1": Transformation(abbreviate, ("probability",), seed_offset=1),
    "abr2": Transformation(apply_rules, seed_offset=2),
    "abr3": Transformation(toggle_acronyms, seed_offset=3),
    "fing": Transformation(butter_fingers, ("probability",), seed_offset=4, has_lexicon=False),
    "homo": Transformation(swap_homophones, ("probability",), seed_offset=6),
    "cont": Transformation(toggle_contractions),
    "dysl": Transformation(swap_confused_words, seed_offset=7),
    "leet": Transformation(leet_letters, ("share",), seed_offset=8, has_lexicon=False),
    "spel": Transformation(misspell_words, ("probability",), seed_offset=9),
    "slng": Transformation(insert_slang, seed_offset=10),
    "week": Transformation(toggle_date_forms),
    "spac": Transformation(perturb_whitespace, ("remove", "add"), seed_offset=11, has_lexicon=False),
}
TRANSFORMATIONS = tuple(REGISTRY)
