"""Test sets of noisy sentences (RoCS-MT, LexNorm, synthetic noise on FLORES) and hard negatives for xSIM++."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from xsent.data.readers.lines import read_lines
from xsent.data.readers.ugc import UgcSet, read_lexnorm, read_rocsmt, ugc_set
from xsent.data.test_sets.xsimpp import AugmentedFlores
from xsent.distributed import rank
from xsent.languages import to_iso639_3
from xsent.text.english.entities import NameCollector, Names
from xsent.text.noise import MIX_ALL, MIXTURES, REGISTRY, TRANSFORMATIONS, Noiser
from xsent.text.xsimpp_negatives import augment

GENERATED, PUBLISHED = "generated", "published"  # hard negatives
BUNDLED, NL_AUGMENTER = "bundled", "NL-Augmenter"  # word lists of the noise


class Negatives(NamedTuple):
    """Sentences that differ little from a standard sentence and mean something else."""

    augmented: list[str]  # distinct, none is a standard sentence
    made_from: dict[str, tuple[str, str]]  # hard negative -> (standard sentence, error type)


@dataclass(frozen=True, kw_only=True)
class GeneratedNegatives:
    """Generates the negatives that ``xsent augment`` would write for the same English sentences."""

    seed: int  # this and the next two: as in `augment`
    per_number: int
    per_entity: int
    max_per_sentence: int | None  # causality first, then numbers, then entities; None is no cap

    def __post_init__(self) -> None:
        for option in ("per_number", "per_entity", "max_per_sentence"):
            value = getattr(self, option)
            if value is not None and value < 0:
                raise ValueError(f"evaluator.read.negatives.{option}={value}: expected at least 0")

    def __call__(self, standard: Sequence[str]) -> Negatives:
        """Negatives of the sentences; a sentence that no rule changes has none."""
        distinct = list(dict.fromkeys(standard))
        collector = NameCollector()
        for sentence in distinct:
            collector.add(sentence)
        names = Names(collector.names())
        used = set(distinct)
        made_from: dict[str, tuple[str, str]] = {}
        for sentence in tqdm(
            distinct, desc="hard negatives", unit=" sentences", delay=2, leave=False, disable=rank() > 0
        ):
            negatives = augment(sentence, names, seed=self.seed, per_number=self.per_number, per_entity=self.per_entity)
            new = [negative for negative in negatives if negative.text not in used]
            for negative in new[: self.max_per_sentence]:
                used.add(negative.text)
                made_from[negative.text] = sentence, negative.error_type
        return Negatives(list(made_from), made_from)


def check_published(augmented: str | None, error_types: str | None) -> None:
    """Raise ``ValueError`` unless both files or neither are given."""
    if (augmented is None) != (error_types is None):
        raise ValueError(
            "evaluator.read.flores_augmented and flores_error_types belong together: expected both or neither,"
            f" found {augmented} and {error_types}"
        )


def published_negatives(
    augmented: str | None, error_types: str | None, english: Sequence[str], path: str
) -> Negatives | None:
    """The hard negatives of the files published for these sentences of ``path``; None without files or sentences."""
    if not english or augmented is None or error_types is None:
        return None
    files = AugmentedFlores(augmented=augmented, error_types=error_types)
    files.check_sources(set(english), path)
    return Negatives(*files.files)


@dataclass(kw_only=True)
class UgcSets:
    """Reader of noisy sets with their standard sentences; it makes those of FLORES.

    Raises:
        ValueError: no source, an unknown transformation, no generation, or only one of the two files.
    """

    rocsmt: str | None  # folder, as in `read_rocsmt`; None leaves a source out
    lexnorm: str | None  # file, as in `read_lexnorm`
    lexnorm_lower_case: bool  # lower-case its noisy side
    flores: str | None  # file of clean sentences, one per line, or a FLORES-200 folder with a file of the language
    noise: Noiser  # makes the noise of FLORES, with its default parameters
    transforms: Sequence[str]  # noise of FLORES, one set each: single transformations, and `mix_all`
    seeds: int  # generations of each, with the seeds 1, 2, ... in place of the noise's seed
    language: str  # of `lexnorm` and `flores`, in any code; RoCS-MT is English
    negatives: GeneratedNegatives | None  # hard negatives of standard sentences; None gives none: no xSIM++
    flores_augmented: str | None  # the files published for FLORES, used in place of generated negatives
    flores_error_types: str | None

    def __post_init__(self) -> None:
        if self.rocsmt is None and self.lexnorm is None and self.flores is None:
            raise ValueError(
                "nothing to read: give at least one of evaluator.read.rocsmt=FOLDER, evaluator.read.lexnorm=FILE,"
                " evaluator.read.flores=FILE_OR_FOLDER"
            )
        allowed = (*REGISTRY, *MIXTURES)
        if unknown := [transform for transform in self.transforms if transform not in allowed]:
            raise ValueError(
                f"evaluator.read.transforms: unknown {', '.join(unknown)}; expected some of {', '.join(allowed)}"
            )
        if self.seeds < 1:
            raise ValueError(f"evaluator.read.seeds={self.seeds}: expected at least 1 generation")
        check_published(self.flores_augmented, self.flores_error_types)
        self.transforms = list(dict.fromkeys(self.transforms))
        self.language = to_iso639_3(self.language)

    def __call__(self, root: str | None, names: Sequence[str] | None) -> list[UgcSet]:
        """All sets; ``root`` and ``names`` are not used: each source has a path of its own.

        Raises:
            FileNotFoundError: a file or folder does not exist.
            ValueError: a file is damaged or does not match another; names file and line, or entry.
        """
        sets = []
        if self.rocsmt is not None:
            sets.append(read_rocsmt(self.rocsmt))
        if self.lexnorm is not None:
            sets.append(read_lexnorm(self.lexnorm, lower_case=self.lexnorm_lower_case, language=self.language))
        # Read and check all files before the slow generation.
        path, clean = self._read_flores(self.flores) if self.flores is not None else (Path(), [])
        published = published_negatives(self.flores_augmented, self.flores_error_types, clean, str(path))
        generated = "none" if self.negatives is None else GENERATED
        sets = [_add_negatives(natural, self._generate(natural.standard), generated) for natural in sets]
        if clean:
            negatives, origin = (published, PUBLISHED) if published else (self._generate(clean), generated)
            sets += [_add_negatives(synthetic, negatives, origin) for synthetic in self._make_noisy(clean, path)]
        return sets

    def _read_flores(self, flores: str) -> tuple[Path, list[str]]:
        path = Path(flores)
        if path.is_dir():
            files = sorted(path.glob(f"{self.language}_????.*"))
            if len(files) != 1:
                names = ", ".join(file.name for file in files) or "none"
                raise FileNotFoundError(
                    f"{path}: expected one file such as {self.language}_Latn.dev, found {names}; give the file"
                )
            path = files[0]
        lines = [line.strip() for line in read_lines(path)]
        if not any(lines):
            raise ValueError(f"{path}: expected at least 1 sentence, found none")
        return path, lines

    def _generate(self, standard: Sequence[str]) -> Negatives:
        return Negatives([], {}) if self.negatives is None else self.negatives(standard)

    def _make_noisy(self, clean: list[str], path: Path) -> Iterator[UgcSet]:
        generations = list(product(self.transforms, range(1, self.seeds + 1)))
        for transform, seed in tqdm(generations, desc="noise", unit=" sets", delay=2, leave=False, disable=rank() > 0):
            noiser = self.noise.with_transform(transform).with_seed(seed)
            keys = range(1, len(clean) + 1)
            noisy = [sentence.text.strip() for sentence in noiser.apply(clean, keys)]
            synthetic = ugc_set(f"flores_{transform}", path, noisy, clean, language=self.language, seed=seed)
            yield replace(
                synthetic,
                step_counts=noiser.step_counts(keys),
                conditions={"word_lists": _word_lists(noiser), "generations": str(self.seeds)},
            )


def _add_negatives(test_set: UgcSet, negatives: Negatives, origin: str) -> UgcSet:
    conditions = {**test_set.conditions, "negatives": origin}
    return replace(test_set, augmented=negatives.augmented, made_from=negatives.made_from, conditions=conditions)


def _word_lists(noiser: Noiser) -> str:
    """Whose lists the noise uses; keyboard, leet map and spaces are NL-Augmenter's in any case."""
    transform = noiser.transform
    if transform in TRANSFORMATIONS and not noiser.has_lexicon:
        return NL_AUGMENTER
    # Homophones come from another package; kinds of noise of our own have our lists.
    if noiser.resources is None or transform == "homo" or transform not in (MIX_ALL, *TRANSFORMATIONS):
        return BUNDLED
    return f"{NL_AUGMENTER}, {BUNDLED} homophones" if transform == MIX_ALL else NL_AUGMENTER
