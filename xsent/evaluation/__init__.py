"""From vectors to figures: search, margin scores, metrics, evaluators."""
