"""What every room stands on: data home, atomic writes, settings, errors, checks, manifests and code identity, progress."""
