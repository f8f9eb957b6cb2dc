"""Nearest-neighbour search, margin scores and mining."""
