"""Cross-encoders: a sentence pair to scores."""
