"""Every name of Dagster that is not public and that this project needs, each with the reason.

An upgrade of Dagster may change them without notice: `tests/assets/test_dagster_private.py` says of each what is relied on.
"""

from typing import Any

from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationTargetMaterializationData
from dagster._core.definitions.data_version import (
    CODE_VERSION_TAG,
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    DATA_VERSION_TAG,
    get_input_data_version_tag,
    get_input_event_pointer_tag,
)
from dagster._core.instance.ref import InstanceRef
from dagster._core.remote_representation.external import RemoteSchedule
from dagster._core.remote_representation.external_data import ScheduleSnap
from dagster._core.remote_representation.handle import RepositoryHandle
from dagster._core.scheduler.instigation import InstigatorStatus
from dagster._core.workspace.load_target import WorkspaceFileTarget

#: Overrides of an instance whose steps keep the terminal: no public setting switches the capture of their output off.
UNCAPTURED: dict[str, Any] = {
    "compute_logs": {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
}

__all__ = [
    # A step tags its materialization with the versions of its code, its data and its inputs, and staleness is judged by these
    # tags. What is reported outside a run must carry the same: public is only the `DataVersion` that a step returns.
    "CODE_VERSION_TAG",
    "DATA_VERSION_IS_USER_PROVIDED_TAG",
    "DATA_VERSION_TAG",
    "UNCAPTURED",
    # A check result reported outside a run has to name the materialization it is about; else the UI takes it for one of an
    # earlier materialization.
    "AssetCheckEvaluationTargetMaterializationData",
    # The instance of a data home is opened from its directory and with overrides. The public `DagsterInstance.get` reads the
    # environment variable DAGSTER_HOME and takes no overrides.
    "InstanceRef",
    # The status that is stored when a person switches a sensor or schedule. Public are only the defaults in the code.
    "InstigatorStatus",
    # `DagsterInstance.start_schedule` takes a schedule as a code server describes it. These four describe one without starting
    # a code server, which costs seconds: the switch is then stored under the same id as by the button of the UI.
    "RemoteSchedule",
    "RepositoryHandle",
    "ScheduleSnap",
    "WorkspaceFileTarget",
    # Names of the tags for versions and events of inputs, as above.
    "get_input_data_version_tag",
    "get_input_event_pointer_tag",
]
