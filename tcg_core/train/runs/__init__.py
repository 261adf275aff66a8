"""A run on disk: checkpoints, pointers, what recovery demands, resume and import."""
