"""A recorded decision in words, and the data home as pandas frames."""
