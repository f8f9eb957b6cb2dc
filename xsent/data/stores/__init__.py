"""Content-addressed stores of token ids, embeddings and noisy texts."""
