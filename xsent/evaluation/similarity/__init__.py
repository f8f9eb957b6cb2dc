"""Evaluators of sentence similarity: STS, paraphrases, alignment and uniformity, language probe."""
