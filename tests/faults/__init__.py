"""Injected faults, one file per family: each test is one fault and its expected outcome (docs/reliability.md)."""
