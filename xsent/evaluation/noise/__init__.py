"""Robustness to user-generated text."""
