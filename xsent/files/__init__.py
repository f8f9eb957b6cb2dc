"""Files: atomic writes, locks, arrays, archives, strict JSON, appended JSON lines."""
