"""Divergences: clean translation pairs become pairs that differ in meaning (docs/divergences.md)."""

from __future__ import annotations

from xsent.text.divergences.coarse import Insertion, Uneven
from xsent.text.divergences.conllu import read_annotated
from xsent.text.divergences.deletion import SubtreeDeletion
from xsent.text.divergences.diverger import Diverger, Made
from xsent.text.divergences.pairs import AnnotatedPair, check_pair
from xsent.text.divergences.ranker import Blank, FrequencyRanker, Ranker
from xsent.text.divergences.record import KINDS, SEED, Divergence, Reason, from_json, to_json
from xsent.text.divergences.replacement import PhraseReplacement
from xsent.text.divergences.substitution import LexicalSubstitution
from xsent.text.divergences.wordnet import WordNet

__all__ = [
    "KINDS",
    "SEED",
    "AnnotatedPair",
    "Blank",
    "Divergence",
    "Diverger",
    "FrequencyRanker",
    "Insertion",
    "LexicalSubstitution",
    "Made",
    "PhraseReplacement",
    "Ranker",
    "Reason",
    "SubtreeDeletion",
    "Uneven",
    "WordNet",
    "check_pair",
    "from_json",
    "read_annotated",
    "to_json",
]
