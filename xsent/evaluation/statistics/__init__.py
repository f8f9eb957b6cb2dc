"""Thresholds, ROC, agreement and significance."""
