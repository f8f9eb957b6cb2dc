"""Training items from seeds and their divergences, sampled as in Briakou and Carpuat 2020."""

import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from xsent.data.sampling.batch_sampler import Rows
from xsent.text.divergences.json_format import (
    DELETION,
    GENERALIZATION,
    KINDS,
    PARTICULARIZATION,
    REPLACEMENT,
    SEED,
    Divergence,
)
from xsent.text.divergences.sampling import balanced_pairs, concatenation_pairs, ranking_pairs, single_pairs

RANKED = (DELETION, REPLACEMENT, GENERALIZATION, PARTICULARIZATION)  # the four kinds of the paper
SAMPLING = ("single", "balanced", "concatenation", "ranking")
ITEMS = ("pairs", "contrastive", "independent")


class Items(NamedTuple):
    """N items of a model's input, as numbers of records."""

    finer: Rows  # (N,) less divergent record of a ranked item; empty if each record is an item
    record: Rows  # (N,) record that is classified and tagged; of a ranked item the more divergent one
    divergent: Rows  # (N,) 0 if it counts as equivalent


def check_options(sampling: str, items: str, kinds: Sequence[str]) -> None:
    """Raise ``ValueError`` for an unknown option, or options that exclude each other."""
    for option, value, allowed in [("sampling", sampling, SAMPLING), ("items", items, ITEMS)]:
        if value not in allowed:
            raise ValueError(f"data.{option}={value}: expected one of {', '.join(allowed)}")
    if sampling == "ranking" and items != "pairs":
        raise ValueError(f"data.items={items}: data.sampling=ranking orders pairs; give data.items=pairs")
    allowed = KINDS if sampling == "single" else RANKED
    if not kinds or set(kinds) - set(allowed):
        raise ValueError(
            f"data.kinds={','.join(kinds)}: expected some of {', '.join(allowed)} with data.sampling={sampling}"
        )


class SeedTable:
    """Records of seeds and their divergences of the kinds, those of one seed next to each other.

    Attributes:
        records: seeds and used divergences.
        groups: number of the record by kind, one mapping per seed.
    """

    def __init__(self, groups: Iterable[Sequence[Divergence]], kinds: Sequence[str], *, seed: int) -> None:
        self.kinds = kinds
        self.seed = seed
        self.records: list[Divergence] = []
        self.groups: list[dict[str, int]] = []
        for group in groups:
            used = [record for record in group if record.kind in (SEED, *kinds)]
            self.groups.append({record.kind: len(self.records) + index for index, record in enumerate(used)})
            self.records += used

    def pairs(self, seeds: range, sampling: str) -> tuple[list[int], list[int]]:
        """Less and more divergent records (N,) of the sampled pairs of these seeds."""
        pairs = [
            (group[finer], group[coarser])
            for group in self.groups[seeds.start : seeds.stop]
            for finer, coarser in self._sample(group, sampling)
        ]
        return [finer for finer, _ in pairs], [coarser for _, coarser in pairs]

    def _sample(self, group: dict[str, int], sampling: str) -> list[tuple[str, str]]:
        kinds = list(group)[1:]
        # The draws for a seed depend on that seed alone.
        rng = random.Random(f"{self.seed} {self.records[group[SEED]].seed}")
        if sampling == "ranking":
            return ranking_pairs(kinds, rng)
        if sampling == "concatenation":
            return concatenation_pairs(kinds)
        if sampling == "balanced":
            return balanced_pairs(kinds, rng)
        return single_pairs(kinds, self.kinds)

    def independent(self, records: Sequence[int], first_seed: int, *, path: str) -> list[int]:
        """Draw as many divergences of each kind as in ``records``, from the seeds ``first_seed`` and later.

        Raises:
            ValueError: these seeds of the file ``path`` have too few divergences of a kind.
        """
        rng = random.Random(f"{self.seed} independent")
        sample: list[int] = []
        for kind in self.kinds:
            needed = sum(self.records[number].kind == kind for number in records)
            available = [group[kind] for group in self.groups[first_seed:] if kind in group]
            if len(available) < needed:
                raise ValueError(
                    f"{path}: data.items=independent needs {needed:,} divergences of kind {kind} of seeds that are in"
                    f" no split, found {len(available):,}; give a smaller data.train_seeds"
                )
            sample += rng.sample(available, needed)
        return sample


def items_of(finer: Sequence[int], coarser: Sequence[int], *, ranked: bool) -> Items:
    """Items of two records each, less and more divergent; if not ranked, the distinct seeds and then the others."""
    if ranked:
        return Items(np.array(finer, np.int64), np.array(coarser, np.int64), np.ones(len(finer), np.int64))
    seeds = list(dict.fromkeys(finer))
    divergent = np.repeat([0, 1], [len(seeds), len(coarser)])
    return Items(np.zeros(0, np.int64), np.array([*seeds, *coarser], np.int64), divergent)
