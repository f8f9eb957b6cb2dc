"""Divergence generation: translation pairs become pairs that differ in meaning (docs/divergences.md)."""

from xsent.text.divergences.annotated_pair import AnnotatedPair
from xsent.text.divergences.coarse import Insertion, Uneven
from xsent.text.divergences.conllu import read_annotated
from xsent.text.divergences.deletion import SubtreeDeletion
from xsent.text.divergences.generator import Diverger
from xsent.text.divergences.json_format import SEED, from_json, to_json
from xsent.text.divergences.replacement import PhraseReplacement
from xsent.text.divergences.spans import SpanDeletion, WordReplacement
from xsent.text.divergences.substitution import LexicalSubstitution
from xsent.text.divergences.wordnet import WordNet

__all__ = ["SEED", "AnnotatedPair", "Diverger", "Insertion", "LexicalSubstitution", "PhraseReplacement"]
__all__ += ["SpanDeletion", "SubtreeDeletion", "Uneven", "WordNet", "WordReplacement", "from_json", "read_annotated"]
__all__ += ["to_json"]
