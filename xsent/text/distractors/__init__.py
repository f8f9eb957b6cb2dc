"""Near-copies of sentences that mean something else: by rules, or by a language model."""
