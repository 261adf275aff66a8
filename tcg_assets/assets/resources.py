"""What assets are given: the data home."""

import dagster as dg

from tcg_core.base.home import Home


class Workspace(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The data home; ``data`` empty means ``$TCG_DATA``, else ``data/`` of the project."""

    data: str = ""

    def home(self) -> Home:
        """The home, with its directories made; raises :class:`tcg_core.base.errors.HomeError` if it cannot be written."""
        return Home.resolve(self.data or None).prepare()
