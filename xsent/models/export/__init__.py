"""Encoders as folders that other people's tools read: sentence-transformers, onnxruntime."""
