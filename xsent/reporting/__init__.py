"""Tables, pictures, and what else a run leaves for a reader."""
