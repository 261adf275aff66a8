"""The nightly training: its configuration, what tonight trains, what it may cost, unfinished runs."""
