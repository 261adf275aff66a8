"""Observation to tokens: schema, trackers, encoder, targets, batches. Packed for Kaggle as it is: imports the standard
library, numpy and itself, nothing else."""
