"""Noise generator: user-generated text from clean text, by one transformation or a mixture of them."""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from random import Random
from typing import NamedTuple, Self

from xsent import __version__
from xsent.config_checks import check_share, is_number, suggestion
from xsent.text.noise.lexicons import bundled, from_folder
from xsent.text.noise.mixtures import MIX_ALL, MIXTURES, REGISTRY, TRANSFORMATIONS, Mixture, Plan, Step, step_rng
from xsent.text.word_lists import load_sections

# Increase it if a change of the code changes the output: stored noise is then made again.
NOISE_VERSION = 1
_CODE_LISTS = ("keyboard", "leet", "tokenizer", "grammar", "verbs")  # word lists that are not in Lexicons


class NoisySentence(NamedTuple):
    """A noisy sentence and the steps that made it."""

    text: str
    applied: Plan  # in order; a step may find nothing to change


@dataclass(kw_only=True, eq=False)
class Noiser:
    """Makes noisy sentences from clean ones; reproducible on any machine and in any order.

    Raises:
        FileNotFoundError: a file of ``resources`` is missing.
        ValueError: an unknown transformation, a missing or unknown parameter, a value of the wrong type or outside
            [0, 1] (in a mixture also times a factor), a seed that the released generator does not take, noise that the
            released script does not make, or an invalid lexicon file.

    Source:
        Nishimwe et al. 2024 (arXiv:2403.17220), section 3 and Appendix A, and its released script.
    """

    transform: str  # one of REGISTRY, or a mixture: ``mix_all``, ``social``
    seed: int  # of all draws
    selection: float  # probability of each transformation in a mixture
    parameters: Mapping[str, Mapping[str, float]]  # by transformation and name; a mixture multiplies them by factors
    factors: Sequence[float]  # one is drawn for each parameter in a mixture
    factor_weights: Sequence[float]  # probability of each factor
    resources: str | None  # folder of NL-Augmenter's files, which replace the bundled word lists; None: bundled lists
    # Replay the released script: one sequence of plans over the sentences, and each transformation draws the same
    # numbers for every sentence (so typos are at the same positions in all).
    reference_rng: bool

    def __post_init__(self) -> None:
        if self.transform not in (*MIXTURES, *REGISTRY):
            mixtures, names = ", ".join(MIXTURES), ", ".join(REGISTRY)
            nearest = suggestion(str(self.transform), [*MIXTURES, *REGISTRY])
            raise ValueError(f"noise.transform {self.transform!r}: expected {mixtures} or one of {names}{nearest}")
        if not isinstance(self.seed, int) or isinstance(self.seed, bool):
            raise ValueError(f"noise.seed={self.seed!r}: expected a whole number")
        if self.reference_rng and not 0 <= self.seed < 2**32:
            raise ValueError(
                f"noise.seed={self.seed}: expected 0 to 2^32 - 1 with reference_rng=true, as numpy's generator"
            )
        if self.reference_rng and self.transform not in (MIX_ALL, *TRANSFORMATIONS):
            names = ", ".join(TRANSFORMATIONS)
            raise ValueError(
                f"noise.transform={self.transform}: the released script has no such noise; with reference_rng=true"
                f" expected {MIX_ALL} or one of {names}"
            )
        check_share("noise.selection", self.selection)
        for name, values in (("factors", self.factors), ("factor_weights", self.factor_weights)):
            if not isinstance(values, Sequence) or not all(map(is_number, values)):
                raise ValueError(f"noise.{name}={values!r}: expected a list of numbers")
        factors, weights = tuple(self.factors), tuple(self.factor_weights)
        if len(factors) != len(weights) or min(weights, default=0) < 0 or not math.isclose(sum(weights), 1):
            raise ValueError(
                f"noise.factor_weights={list(weights)}: expected a weight >= 0 for each of {len(factors)} factors, and"
                f" a sum of 1, found {sum(weights)}"
            )
        # Factors only matter in a mixture.
        parameters = _check_parameters(self.parameters, factors if self.is_mixture else ())
        kinds = MIXTURES.get(self.transform, ())
        self.mixture = Mixture(kinds, self.selection, parameters, factors, weights)
        self.lexicons = bundled() if self.resources is None else from_folder(Path(self.resources))

    def __call__(self, sentence: str, key: int) -> NoisySentence:
        """The noisy form of one sentence, independent of all others.

        Args:
            sentence: outer line breaks are removed, inner ones become spaces. Blank sentences stay.
            key: identifies the sentence, e.g. its line number; another key gives other noise.

        Raises:
            ValueError: with ``reference_rng``, where noise depends on the previous sentences.
        """
        if self.reference_rng:
            raise ValueError("reference_rng=true draws one sequence over all sentences: use apply(), not one alone")
        plan = self.mixture.plan(self.seed, key) if self.is_mixture else (self._single_step,)
        return self._transform(plan, sentence, lambda name: step_rng(self.seed, key, name))

    def apply(self, sentences: Iterable[str], keys: Iterable[int]) -> Iterator[NoisySentence]:
        """The noisy forms in order; ``reference_rng`` ignores the keys and restarts with every call."""
        if not self.reference_rng:
            yield from map(self, sentences, keys)
            return
        plans = self.mixture.reference_plans(self.seed) if self.is_mixture else repeat((self._single_step,))
        for plan, sentence in zip(plans, sentences, strict=False):  # plans are endless
            yield self._transform(plan, sentence, lambda name: Random(self.seed + REGISTRY[name].seed_offset))

    @property
    def is_mixture(self) -> bool:
        return self.transform in MIXTURES

    @property
    def has_lexicon(self) -> bool:
        """Whether the noise needs English word lists."""
        return self.is_mixture or REGISTRY[self.transform].has_lexicon

    def step_counts(self, keys: Sequence[int]) -> list[int]:
        """Number of transformations that ``apply`` selects for the sentence of each key, blank ones aside."""
        if not self.is_mixture:
            return [1] * len(keys)
        if self.reference_rng:
            return [len(plan) for plan, _ in zip(self.mixture.reference_plans(self.seed), keys, strict=False)]
        return [len(self.mixture.plan(self.seed, key)) for key in keys]

    def with_seed(self, seed: int) -> Self:
        return replace(self, seed=seed)

    def with_transform(self, transform: str) -> Self:
        return replace(self, transform=transform)

    def digest(self) -> str:
        """Hex digest of everything that decides the noise: values, word lists, code version."""
        values = [self.transform, self.seed, asdict(self.mixture), self.reference_rng]
        values += [self.lexicons.digest(), {name: load_sections(name) for name in _CODE_LISTS}]
        values += [NOISE_VERSION, __version__]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def __reduce__(self) -> tuple[Callable[..., object], tuple[()]]:
        # Other processes read the word lists themselves: pickling them can exceed the pipe's buffer, and if the
        # receiver dies meanwhile, this process waits for ever.
        return partial(type(self), **{field.name: getattr(self, field.name) for field in fields(self)}), ()

    @property
    def _single_step(self) -> Step:
        return Step(self.transform, self.mixture.parameters[self.transform])

    def _transform(self, plan: Plan, sentence: str, rng_of: Callable[[str], Random]) -> NoisySentence:
        text = _to_line(sentence)
        if not plan or not text.strip():
            return NoisySentence(text, ())
        for name, values in plan:
            transformation = REGISTRY[name]
            options: dict[str, object] = dict(zip(transformation.parameters, values, strict=True))
            if transformation.has_lexicon:
                options["lexicon"] = getattr(self.lexicons, name)
            # A sentence never becomes empty, whatever a lexicon contains.
            text = _to_line(transformation.function(text, rng_of(name), **options)) or text
        return NoisySentence(text, plan)


def _to_line(text: str) -> str:
    return text.strip("\r\n").replace("\n", " ")


def _check_parameters(
    parameters: Mapping[str, Mapping[str, float]], factors: Sequence[float]
) -> dict[str, tuple[float, ...]]:
    """Parameter values by transformation, in the registry's order; they and their multiples are from 0 to 1."""
    if not isinstance(parameters, Mapping):
        raise ValueError(f"noise.parameters={parameters!r}: expected values by transformation")
    if unknown := parameters.keys() - REGISTRY.keys():
        raise ValueError(f"noise.parameters of {sorted(unknown)}: expected one of {', '.join(REGISTRY)}")
    values_by_name = {}
    for name, transformation in REGISTRY.items():
        values = parameters.get(name, {})
        if not isinstance(values, Mapping):
            raise ValueError(f"noise.parameters.{name}={values!r}: expected values by name")
        expected = transformation.parameters
        if set(values) != set(expected):
            raise ValueError(f"noise.parameters.{name}: expected {list(expected)}, found {sorted(values)}")
        for parameter, value in values.items():
            label = f"noise.parameters.{name}.{parameter}"
            check_share(label, value)
            for factor in factors:
                check_share(f"{label}={value} times the factor {factor}", value * factor)
        values_by_name[name] = tuple(values[parameter] for parameter in expected)
    return values_by_name
