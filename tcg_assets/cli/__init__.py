"""The terminal: `tcg`. Each command is a thin call into the stage that Dagster calls too."""
