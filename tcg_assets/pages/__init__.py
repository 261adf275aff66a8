"""What the pages of the Dagster UI show."""
