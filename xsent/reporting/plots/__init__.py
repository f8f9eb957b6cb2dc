"""Charts drawn with matplotlib."""
