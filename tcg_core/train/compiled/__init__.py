"""Static shapes for GPUs: microbatches padded to a few shapes, compiled once for each."""
