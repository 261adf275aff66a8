"""Sensors and schedules: what starts by itself."""
