"""Encoders that read characters: CharacterBERT and hashed character n-grams."""
