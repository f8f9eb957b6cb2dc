"""User-generated text from clean text: one transformation, or a mixture of all twelve."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import repeat
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self

from xsent import __version__
from xsent.text.noise.abbreviations import abr1, abr2, abr3
from xsent.text.noise.characters import fing, leet, spac
from xsent.text.noise.contractions import cont
from xsent.text.noise.lexicons import bundled, from_folder
from xsent.text.noise.plans import (
    MIX_ALL,
    PARAMETERS,
    REFERENCE_OFFSETS,
    TRANSFORMATIONS,
    Applied,
    Mixture,
    Plan,
    stream,
)
from xsent.text.noise.slang import slng
from xsent.text.noise.words import dysl, homo, spel, week
from xsent.text.words import sections

_FUNCTIONS: dict[str, Callable[..., str]] = {
    "abr1": abr1, "abr2": abr2, "abr3": abr3, "fing": fing, "homo": homo, "cont": cont, "dysl": dysl, "leet": leet,
    "spel": spel, "slng": slng, "week": week, "spac": spac,
}  # fmt: skip
_WITHOUT_LEXICON = {"fing", "leet", "spac"}
# Raise it whenever a change of the code, not of a word list, changes what comes out: stored noise is then made anew.
NOISE_VERSION = 1
_TABLES = ("keyboard", "leet", "tokenizer", "grammar", "verbs")  # word lists of the code, not of the lexicons


class Noised(NamedTuple):
    """A noisy sentence and how it came to be."""

    text: str
    applied: Plan  # in this order, each to what the one before gave; a transformation may find nothing to change


class Noiser:
    """Makes noisy sentences from clean ones; the same values make the same ones, on any machine and in any order.

    Args:
        transform: one of ``TRANSFORMATIONS``, or ``mix_all``.
        seed: of all draws.
        selection: probability of each transformation in ``mix_all``.
        parameters: by transformation, those named in ``PARAMETERS``: of a single transformation, and in
            ``mix_all`` what the factors multiply.
        factors: of each parameter in ``mix_all``, one is drawn.
        factor_weights: probability of each factor.
        resources: a folder of NL-Augmenter's files that take the place of the bundled word lists; None: these.
        reference_rng: replay the released script: one sequence over the sentences, and for each transformation
            the same random numbers on every sentence (so typos are at the same places of all).

    Raises:
        FileNotFoundError: a file of ``resources`` is missing.
        ValueError: an unknown transformation, a parameter missing or too many, a value of the wrong type or outside
            [0, 1] (in ``mix_all`` also times a factor), a seed that the released generator does not take, or a file
            that is no lexicon.

    Source:
        Nishimwe et al. 2024 (arXiv:2403.17220), section 4, and its released script.
    """

    def __init__(
        self,
        *,
        transform: str,
        seed: int,
        selection: float,
        parameters: Mapping[str, Mapping[str, float]],
        factors: Sequence[float],
        factor_weights: Sequence[float],
        resources: str | None,
        reference_rng: bool,
    ) -> None:
        self._take(
            transform=transform, seed=seed, selection=selection, parameters=parameters, factors=factors,
            factor_weights=factor_weights, resources=resources, reference_rng=reference_rng,
        )  # fmt: skip
        self.lexicons = bundled() if resources is None else from_folder(Path(resources))

    def _take(self, **values: Any) -> None:
        """Check and keep everything but the word lists."""
        transform, seed, reference_rng = (values[name] for name in ("transform", "seed", "reference_rng"))
        if transform not in (MIX_ALL, *TRANSFORMATIONS):
            raise ValueError(
                f"noise.transform {transform!r}: expected {MIX_ALL} or one of {', '.join(TRANSFORMATIONS)}"
            )
        _check_seed(seed, reference_rng)
        self._values = values
        self.transform: str = transform
        self.seed: int = seed
        self.reference_rng: bool = reference_rng
        self.mixture = Mixture(
            values["selection"],
            _in_order(values["parameters"]),
            _listed("factors", values["factors"]),
            _listed("factor_weights", values["factor_weights"]),
        )
        if transform == MIX_ALL:
            self.mixture.check_scaled()

    def __call__(self, sentence: str, key: int) -> Noised:
        """The noisy form of one sentence, whatever others there are.

        Args:
            sentence: line breaks at its ends are taken away, others become spaces. Blank ones stay.
            key: tells sentences apart, e.g. the number of the line: another key, other noise.

        Raises:
            ValueError: with ``reference_rng``, where a sentence's noise depends on those before it.
        """
        if self.reference_rng:
            raise ValueError("reference_rng=true draws one sequence over all sentences: use noised(), not one alone")
        plan = self.mixture.plan(self.seed, key) if self.transform == MIX_ALL else (self._default,)
        return self._apply(plan, sentence, lambda name: stream(self.seed, key, name))

    def noised(self, sentences: Iterable[str], keys: Iterable[int]) -> Iterator[Noised]:
        """The noisy forms in order; with ``reference_rng`` keys do not matter, and every call begins anew."""
        if not self.reference_rng:
            yield from map(self, sentences, keys)
            return
        plans = self.mixture.reference_plans(self.seed) if self.transform == MIX_ALL else repeat((self._default,))
        for plan, sentence in zip(plans, sentences, strict=False):  # plans do not end
            yield self._apply(plan, sentence, lambda name: Random(self.seed + REFERENCE_OFFSETS.get(name, 0)))

    def with_seed(self, seed: int) -> Self:
        """The same with another seed, e.g. for another epoch."""
        return self._with(seed=seed)

    def with_transform(self, transform: str) -> Self:
        """The same with another transformation.

        Raises:
            ValueError: there is none of that name.
        """
        return self._with(transform=transform)

    def digest(self) -> str:
        """Hex digest of everything that decides the noise: all values, all word lists, the versions of the code."""
        values = [self.transform, self.seed, asdict(self.mixture), self.reference_rng]
        values += [self.lexicons.digest(), {name: sections(name) for name in _TABLES}, NOISE_VERSION, __version__]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def __reduce__(self) -> tuple[Callable[..., object], tuple[()]]:
        # Other processes read the word lists themselves: one that dies while it is sent more than a pipe holds
        # would leave this process waiting for ever.
        return partial(type(self), **self._values), ()

    def _with(self, **changes: Any) -> Self:
        # Shares the word lists: with other noise in every epoch, a folder would be read anew for each batch.
        other = object.__new__(type(self))
        other._take(**self._values | changes)
        other.lexicons = self.lexicons
        return other

    @property
    def _default(self) -> Applied:
        return Applied(self.transform, self.mixture.parameters[self.transform])

    def _apply(self, plan: Plan, sentence: str, rng_of: Callable[[str], Random]) -> Noised:
        text = _one_line(sentence)
        if not plan or not text.strip():
            return Noised(text, ())
        for name, values in plan:
            options: dict[str, object] = dict(zip(PARAMETERS[name], values, strict=True))
            if name not in _WITHOUT_LEXICON:
                options["lexicon"] = getattr(self.lexicons, name)
            # A sentence never disappears, whatever a lexicon says.
            text = _one_line(_FUNCTIONS[name](text, rng_of(name), **options)) or text
        return Noised(text, plan)


def _one_line(text: str) -> str:
    return text.strip("\r\n").replace("\n", " ")


def _check_seed(seed: object, reference_rng: bool) -> None:
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ValueError(f"noise.seed={seed!r}: expected a whole number")
    if reference_rng and not 0 <= seed < 2**32:
        raise ValueError(f"noise.seed={seed}: expected 0 to 2^32 - 1 with reference_rng=true, as numpy's generator")


def _listed(name: str, values: object) -> tuple[Any, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise ValueError(f"noise.{name}={values!r}: expected a list of numbers")
    return tuple(values)


def _in_order(parameters: Mapping[str, Mapping[str, float]]) -> dict[str, tuple[float, ...]]:
    """The values by transformation, in the order of ``PARAMETERS``."""
    if not isinstance(parameters, Mapping):
        raise ValueError(f"noise.parameters={parameters!r}: expected values by transformation")
    unknown = parameters.keys() - PARAMETERS.keys()
    if unknown:
        raise ValueError(f"noise.parameters of {sorted(unknown)}: expected one of {', '.join(TRANSFORMATIONS)}")
    values = {}
    for name, expected in PARAMETERS.items():
        given = parameters.get(name, {})
        if not isinstance(given, Mapping):
            raise ValueError(f"noise.parameters.{name}={given!r}: expected values by name")
        if set(given) != set(expected):
            raise ValueError(f"noise.parameters.{name}: expected {list(expected)}, found {sorted(given)}")
        values[name] = tuple(given[one] for one in expected)
    return values
