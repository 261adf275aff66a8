"""The trainer's process and what it reports."""
