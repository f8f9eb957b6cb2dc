"""Injected divergences: clean translations of any language, and the same with a word replaced or a span deleted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

from xsent.data.readers.divergences import DivergenceSet, divergence_set
from xsent.data.test_sets.semdiverge import SplitWords
from xsent.text.divergences import AnnotatedPair, SpanDeletion, WordReplacement
from xsent.text.divergences.json_format import Divergence, seed_record
from xsent.text.divergences.phrases import SeedCorpus

ENGLISH = "eng"


class Translations(Protocol):
    """A test set where ``target[i]`` translates ``source[i]``."""

    name: str
    source_lang: str
    target_lang: str
    source: list[str]
    target: list[str]


@dataclass(kw_only=True, frozen=True)
class InjectedDivergences:
    """Test sets of equivalent pairs and as many divergent ones of each kind, English on the source side.

    They tell how well a judge works in a language without annotated divergences. Words are not labelled: nothing says
    which of them are translations.
    """

    read: Callable[[str, Sequence[str] | None], Sequence[Translations]]
    words: SplitWords
    span_deletion: SpanDeletion
    word_replacement: WordReplacement
    seed: int  # of the draws

    def __call__(self, root: str, sets: Sequence[str] | None) -> list[DivergenceSet]:
        """A set per language, named by it; ``sets`` are languages in any code, None is all of the folder.

        Raises:
            FileNotFoundError, ValueError: those of ``read``.
        """
        return [self._inject(translations) for translations in self.read(root, sets)]

    def _inject(self, translations: Translations) -> DivergenceSet:
        sides = [(translations.source, translations.source_lang), (translations.target, translations.target_lang)]
        if translations.target_lang == ENGLISH:
            sides.reverse()
        words = [[tuple(self.words(text, language)) for text in texts] for texts, language in sides]
        pairs = [
            AnnotatedPair(str(number), source, target, (), (), _even_links(len(source), len(target)), "")
            for number, (source, target) in enumerate(zip(*words, strict=True))
            if source and target
        ]
        corpus = SeedCorpus(pairs, longest=2)
        records = [seed_record(pair) for pair in pairs]
        for pair in pairs:
            made = (
                self.span_deletion.make(pair, self._rng(pair)),
                self.word_replacement.make(pair, self._rng(pair), corpus),
            )
            records += [record for record in made if isinstance(record, Divergence)]
        (_, source_lang), (_, target_lang) = sides
        name = target_lang if source_lang == ENGLISH else f"{source_lang}-{target_lang}"
        unlabelled = replace(divergence_set(records, name=name), highlights=None)
        return replace(unlabelled, source_lang=source_lang, target_lang=target_lang)

    def _rng(self, pair: AnnotatedPair) -> Random:
        return Random(f"{self.seed}\n{' '.join(pair.source)}\n{' '.join(pair.target)}")


def _even_links(source: int, target: int) -> tuple[tuple[int, int], ...]:
    """Links of every word to the word at the same share of the other side."""
    forward = {(row, row * target // source) for row in range(source)}
    backward = {(column * source // target, column) for column in range(target)}
    return tuple(sorted(forward | backward))
