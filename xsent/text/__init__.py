"""Text in, text out, without torch: words, code-switching, hard negatives."""
