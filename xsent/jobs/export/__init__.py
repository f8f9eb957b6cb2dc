"""Export of trained encoders."""
