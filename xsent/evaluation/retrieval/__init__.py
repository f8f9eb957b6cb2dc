"""Retrieval evaluators: accuracy, xSIM, xSIM++, BUCC."""
