"""Benchmarks: speed relative to a peer or a physical limit that is measured in the same run."""
