"""Cross-lingual semantic discrimination (CLSD, arXiv:2502.08638)."""
