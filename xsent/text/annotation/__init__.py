"""Tokenization, part-of-speech tagging, parsing and word alignment."""
