"""Partitions: only days that exist, by calendar date. The catalog is the truth, this key set is its mirror."""

import dagster as dg

days = dg.DynamicPartitionsDefinition(name="days")
