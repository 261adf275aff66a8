"""From day to submission: the domain of tcg-assets, in plain Python. Never imports dagster."""
