"""Keeping a data home for a season: backup and restore, retention, services. Above every stage of the flow."""
