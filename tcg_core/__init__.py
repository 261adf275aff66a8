"""From day to submission: the domain of tcg-assets, in plain Python. Never imports dagster."""

__version__ = "0.1.0"
