"""Evaluators of semantic divergence: REFreSD, SemDiverge, held-out divergences."""
