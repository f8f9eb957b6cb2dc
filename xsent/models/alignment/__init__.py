"""Word alignment models and word embeddings."""
