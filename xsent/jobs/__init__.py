"""Jobs: files in, files out; a killed job continues."""
