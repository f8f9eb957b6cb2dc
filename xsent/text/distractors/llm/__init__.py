"""Distractors by a language model behind any OpenAI-compatible endpoint, every answer of which is kept."""
