"""Noise transformations (the twelve of Nishimwe et al. 2024 by the paper's codes, and others), and random plans."""

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, shake_128
from itertools import accumulate
from random import Random
from struct import Struct
from typing import NamedTuple

import numpy as np

from xsent.text.noise.abbreviation_rules import apply_rules
from xsent.text.noise.abbreviations import abbreviate, toggle_acronyms
from xsent.text.noise.characters import butter_fingers, leet_letters, perturb_whitespace
from xsent.text.noise.slang import insert_slang
from xsent.text.noise.social import (
    add_emoticons,
    add_hashtags,
    drop_apostrophes,
    drop_vowels,
    elongate_words,
    respell_words,
    shout_words,
)
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
_PAPER = {
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
_SOCIAL = {
    "elongation": Transformation(elongate_words, ("probability",), has_lexicon=False),
    "shouting": Transformation(shout_words, ("sentences", "words"), has_lexicon=False),
    "respelling": Transformation(respell_words, ("probability",)),
    "apostrophes": Transformation(drop_apostrophes, ("probability",), has_lexicon=False),
    "vowels": Transformation(drop_vowels, ("probability",), has_lexicon=False),
    "emoticons": Transformation(add_emoticons, ("probability",)),
    "hashtags": Transformation(add_hashtags, ("probability",), has_lexicon=False),
}
REGISTRY = _PAPER | _SOCIAL
TRANSFORMATIONS = tuple(_PAPER)  # of the paper and its released script
MIX_ALL = "mix_all"
MIXTURES = {MIX_ALL: TRANSFORMATIONS, "social": tuple(REGISTRY)}  # the transformations of each mixture


class Step(NamedTuple):
    """A transformation and the values of its parameters."""

    name: str
    parameters: tuple[float, ...]

    def __str__(self) -> str:
        """As in the reference's log: ``fing,0.025``."""
        return ",".join([self.name, *(f"{value:g}" for value in self.parameters)])


Plan = tuple[Step, ...]


def step_rng(seed: int, key: int, name: str) -> Random:
    """Independent random numbers for one transformation of one sentence."""
    return Random(int.from_bytes(blake2b(b"%d %d" % (seed, key), digest_size=8, person=name.encode()).digest()))


@dataclass(frozen=True)
class Mixture:
    """Select each transformation with a probability, vary its parameters, shuffle the order: ``mix_all``, ``social``.

    Source:
        Nishimwe et al. 2024, Appendix A, and the released script, which decides what the text leaves open.
    """

    names: tuple[str, ...]  # of its transformations
    selection: float  # probability of each transformation
    parameters: Mapping[str, tuple[float, ...]]  # default values by transformation, in the registry's order
    factors: tuple[float, ...]  # each parameter is multiplied by one of them
    weights: tuple[float, ...]  # probability of each factor

    def plan(self, seed: int, key: int) -> Plan:
        # One hash gives all draws in 3 us, and most sentences need only the first; seeding a generator takes 5 us.
        draws = self._draws.unpack(shake_128(b"%d %d" % (seed, key)).digest(self._draws.size))
        threshold = round(self.selection * 2**32)
        count = len(self.names)
        selected = [i for i in range(count) if draws[i] < threshold]
        selected.sort(key=lambda i: draws[count + i])
        steps = []
        for i in selected:
            factors = (self.factors[bisect(self._bounds, draw)] for draw in draws[2 * count + i :: count])
            defaults = self.parameters[self.names[i]]
            values = tuple([p * factor for p, factor in zip(defaults, factors, strict=False)])
            steps.append(Step(self.names[i], values))
        return tuple(steps)

    @cached_property
    def _draws(self) -> Struct:
        # For each transformation: selection, position in the order, and a factor for each of up to two parameters.
        return Struct(f"<{4 * len(self.names)}I")

    @cached_property
    def _bounds(self) -> list[int]:
        # A draw below 2^32 times the cumulative weight selects that factor; without bound, the last one.
        return [round(bound * 2**32) for bound in accumulate(self.weights[:-1])]

    def reference_plans(self, seed: int) -> Iterator[Plan]:
        """Endless plans of consecutive sentences, as the released script draws them."""
        # The script seeds numpy's global generator once; RandomState is the same generator.
        rng = np.random.RandomState(seed)
        while True:
            plan = []
            for name in TRANSFORMATIONS:
                if rng.random_sample() < self.selection:
                    values = [p * rng.choice(self.factors, p=self.weights) for p in self.parameters[name]]
                    plan.append(Step(name, tuple(map(float, values))))
            rng.shuffle(plan)
            yield tuple(plan)
