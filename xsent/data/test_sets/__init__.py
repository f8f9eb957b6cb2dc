"""Test sets that evaluators read."""
