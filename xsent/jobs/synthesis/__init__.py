"""Text synthesis: noise, divergences, distractors."""
