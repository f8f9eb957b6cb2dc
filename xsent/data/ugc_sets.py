"""All noisy sets of an evaluation: people's noise from RoCS-MT and LexNorm, made noise on FLORES."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from xsent.data.lines import read_lines
from xsent.data.ugc_files import UgcSet, paired, read_lexnorm, read_rocsmt
from xsent.data.ugc_negatives import MadeNegatives, Negatives, PublishedNegatives
from xsent.distributed import rank
from xsent.languages import to_iso639_3
from xsent.text.noise import MIX_ALL, TRANSFORMATIONS, Noiser


class UgcSets:
    """Reads noisy sets beside their standard sentences, and makes those of FLORES.

    Args:
        rocsmt: folder, as in ``read_rocsmt``; None leaves it out, and so with the other sources.
        lexnorm: file, as in ``read_lexnorm``.
        lexnorm_lower_case: whether its noisy side is lower-cased.
        flores: file of clean sentences, one a line, or a FLORES-200 folder, of which the file of the language is read.
        noise: makes the noise of FLORES, with its default parameters.
        transforms: which sets of FLORES: transformations alone, and ``mix_all``.
        seeds: generations of each, with the seeds 1, 2, ... in place of the noise's own.
        language: of ``lexnorm`` and ``flores``, in any code; RoCS-MT is English.
        negatives: makes hard negatives of every source's standard sentences; None makes none, and there is no xSIM++.
        flores_augmented, flores_error_types: the files published for FLORES, in place of negatives made for it.

    Raises:
        ValueError: no source, a transformation that does not exist, no generation, or one of the two files.
    """

    def __init__(
        self,
        *,
        rocsmt: str | None,
        lexnorm: str | None,
        lexnorm_lower_case: bool,
        flores: str | None,
        noise: Noiser,
        transforms: Sequence[str],
        seeds: int,
        language: str,
        negatives: MadeNegatives | None,
        flores_augmented: str | None,
        flores_error_types: str | None,
    ) -> None:
        if rocsmt is None and lexnorm is None and flores is None:
            raise ValueError(
                "nothing to read: give at least one of evaluator.read.rocsmt=FOLDER, evaluator.read.lexnorm=FILE,"
                " evaluator.read.flores=FILE_OR_FOLDER"
            )
        known = (*TRANSFORMATIONS, MIX_ALL)
        if unknown := [transform for transform in transforms if transform not in known]:
            raise ValueError(
                f"evaluator.read.transforms: unknown {', '.join(unknown)}; expected some of {', '.join(known)}"
            )
        if seeds < 1:
            raise ValueError(f"evaluator.read.seeds={seeds}: expected at least 1 generation")
        if (flores_augmented is None) != (flores_error_types is None):
            raise ValueError(
                "evaluator.read.flores_augmented and flores_error_types belong together: expected both or neither,"
                f" found {flores_augmented} and {flores_error_types}"
            )
        self.rocsmt = rocsmt
        self.lexnorm = lexnorm
        self.lexnorm_lower_case = lexnorm_lower_case
        self.flores = flores
        self.noise = noise
        self.transforms = list(dict.fromkeys(transforms))
        self.seeds = seeds
        self.language = to_iso639_3(language)
        self.negatives = negatives
        self.published = (
            PublishedNegatives(augmented=flores_augmented, error_types=flores_error_types)
            if flores_augmented is not None and flores_error_types is not None
            else None
        )

    def __call__(self, root: str | None, wanted: Sequence[str] | None) -> list[UgcSet]:
        """All sets; ``root`` and ``wanted`` are not needed here: each source has a place of its own.

        Raises:
            FileNotFoundError: a file or folder is not there.
            ValueError: files that do not fit each other or are damaged; names file and line, or entry.
        """
        found = []
        if self.rocsmt is not None:
            found.append(read_rocsmt(self.rocsmt))
        if self.lexnorm is not None:
            found.append(read_lexnorm(self.lexnorm, lower_case=self.lexnorm_lower_case, language=self.language))
        # All that is read comes before what takes time.
        clean, path = self._clean() if self.flores is not None else ([], Path())
        published = None if self.published is None or not clean else self.published.of(clean, str(path))
        found = [_with(one, self._made(one.standard)) for one in found]
        if clean:
            negatives = published or self._made(clean)
            found += [_with(one, negatives) for one in self._noised(clean, path)]
        return found

    def _clean(self) -> tuple[list[str], Path]:
        path = Path(str(self.flores))
        if path.is_dir():
            files = sorted(path.glob(f"{self.language}_????.*"))
            if len(files) != 1:
                there = ", ".join(file.name for file in files) or "none"
                raise FileNotFoundError(
                    f"{path}: expected one file such as {self.language}_Latn.dev, found {there}; give the file"
                )
            path = files[0]
        lines = [line.strip() for line in read_lines(path)]
        if not any(lines):
            raise ValueError(f"{path}: expected at least 1 sentence, found none")
        return lines, path

    def _made(self, standard: Sequence[str]) -> Negatives:
        return Negatives([], {}) if self.negatives is None else self.negatives(standard)

    def _noised(self, clean: list[str], path: Path) -> Iterator[UgcSet]:
        numbers = range(1, len(clean) + 1)
        each = [(transform, seed) for transform in self.transforms for seed in range(1, self.seeds + 1)]
        for transform, seed in tqdm(each, desc="noise", unit=" sets", delay=2, leave=False, disable=rank() > 0):
            noiser = self.noise.with_transform(transform).with_seed(seed)
            noisy = [one.text.strip() for one in noiser.noised(clean, numbers)]
            yield paired(f"flores_{transform}", path, noisy, clean, language=self.language, seed=seed)


def _with(one: UgcSet, negatives: Negatives) -> UgcSet:
    return replace(one, augmented=negatives.augmented, made_from=negatives.made_from)
