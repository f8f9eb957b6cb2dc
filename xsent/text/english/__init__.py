"""Word-level editing of English text."""
