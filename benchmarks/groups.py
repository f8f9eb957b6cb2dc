"""Groups of pairs that share a sentence, and what a batch loses to them: the table of docs/data.md.

    python -m benchmarks.groups [--batch 2048]

Adds one folder of ``XSENT_DATA`` after the other to the data of ``experiment=mini`` (all languages) and prints a row
for each: training pairs, the two largest components, how many of a batch drawn at random are not negatives of a pair,
on average, with whole components as groups and with the groups of training; and how many share a sentence with the pair
and yet are its negatives.
"""

import argparse

import numpy as np

from benchmarks.languages import DATA, ROOTS, training_data
from xsent.data.sampling import pair_table
from xsent.data.sampling.batch_sampler import Rows


def masked(group: Rows, batch: int) -> float:
    """Mean number of the other pairs of a batch that are in a pair's group."""
    share = np.unique(group, return_counts=True)[1] / len(group)
    return float((batch - 1) * (share * (share - 1 / len(group))).sum())


def shared_negatives(train: pair_table.Columns, group: Rows, batch: int) -> float:
    """Mean number of the other pairs of a batch that share a sentence with a pair but not its group."""

    def equal(key: Rows) -> float:
        counts = np.unique(key, return_counts=True)[1].astype(float)
        return float((counts * (counts - 1)).sum())

    numbers = int(group.max()) + 1
    differing = sum(equal(side) - equal(side * numbers + group) for side in (train.source, train.target))
    return (batch - 1) * differing / len(group) ** 2


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--batch", type=int, default=2048)
    batch = parser.parse_args().batch
    print("| training pairs | largest component | next | in the component | in the group | shared negatives |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for end in (1, 3, 4):
        roots = ",".join(str(DATA / folder) for folder in ROOTS["mini"][:end])
        data = training_data("mini", [f"data.root=[{roots}]", "data.languages=null", "data.shares=null"])
        train = data.splits["train"]
        groups = pair_table.groups(train, data.language_codes)
        components = pair_table.components(train)
        sizes = np.sort(np.bincount(components))[::-1]
        lost = " | ".join(f"{masked(group, batch):.2f}" for group in (components, groups))
        lost += f" | {shared_negatives(train, groups, batch):.4f}"
        print(f"| {len(groups):,} | {sizes[0]:,} | {sizes[1]:,} | {lost} |", flush=True)


if __name__ == "__main__":
    main()
