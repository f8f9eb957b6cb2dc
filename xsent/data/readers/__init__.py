"""Readers: files to rows; what cannot be used goes to a reject ledger."""
