"""Incidents, deadlines, and the channels that report them."""
