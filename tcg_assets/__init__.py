"""Dagster's side of the graph: it wires what tcg_core thinks."""

import warnings

# Dagster says it of its own copy of a run-status sensor, in every command and service; no code here gives a sensor owners.
warnings.filterwarnings("ignore", message="Parameter `owners` of initializer `SensorDefinition")
