"""A schedule of this code location as webserver and daemon know it, without the code server that they would load it from."""

import contextvars

import dagster as dg

from tcg_assets.dagster_private import RemoteSchedule, RepositoryHandle, ScheduleSnap, WorkspaceFileTarget
from tcg_assets.sync.server import WORKSPACE


def remote_schedule(definitions: dg.Definitions, name: str) -> RemoteSchedule:
    """The schedule ``name`` with the origin that ``workspace.yaml`` gives it: by it the instance stores whether it is on.

    Raises what Dagster raises for a name that is no schedule of ``definitions``.
    """
    # In a context of its own: Dagster keeps an instance's storage in the present one, and that instance may be closed by now.
    repository = contextvars.Context().run(definitions.get_repository_def)
    [location] = WorkspaceFileTarget([WORKSPACE]).create_origins()
    handle = RepositoryHandle(
        repository_name=repository.name,
        code_location_origin=location,
        repository_python_origin=None,
        display_metadata={},
    )
    return RemoteSchedule(ScheduleSnap.from_def(repository.get_schedule_def(name), repository), handle)
