"""Bitext mining of files."""
