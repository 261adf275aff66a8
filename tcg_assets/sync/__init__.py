"""Dagster's history of a data home: opened, filled from the catalog, repaired after a crash."""
