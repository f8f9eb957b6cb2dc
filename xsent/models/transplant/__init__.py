"""Give a pretrained transformer the tokenizer of a static encoder."""
