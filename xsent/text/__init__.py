"""Text processing without torch: English edits, noise, divergences, distractors, annotation, code-switching."""
