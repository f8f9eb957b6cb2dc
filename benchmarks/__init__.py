"""What the project promises to be fast at, measured against a peer or a physical limit in the same run."""
