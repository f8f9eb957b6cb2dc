"""Configs of runs and jobs: compose with Hydra, check, build the objects."""
