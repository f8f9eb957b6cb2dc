"""From text to vectors: encoders, pooling, heads."""
