"""Sentence encoders: text to embeddings."""
