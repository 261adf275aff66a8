"""Which sensors and schedules a person switched, as the instance stores it."""

import dagster as dg

from tcg_assets.dagster_private import InstigatorStatus

NIGHTLY = "nightly_schedule"


def switched(instance: dg.DagsterInstance) -> dict[str, bool]:
    """Sensors and schedules that were switched by hand, and whether they are on; the others follow their default in the code."""
    return {
        state.instigator_name: state.status is InstigatorStatus.RUNNING
        for state in instance.all_instigator_state()
        if state.status is not InstigatorStatus.DECLARED_IN_CODE
    }


def nightly_on(instance: dg.DagsterInstance) -> bool:
    """Whether the nightly schedule is on; it is off until somebody switches it on."""
    return switched(instance).get(NIGHTLY, False)
