"""One graph over the manifests: back to the days, forward to the submissions."""
