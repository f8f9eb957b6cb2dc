"""Lightning data modules."""
