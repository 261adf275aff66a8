"""The one line of a failed step that a person reads, on the command line and in an alert."""

import dagster as dg


def failure_line(event: dg.DagsterEvent) -> str:
    """What the stage said when it refused, else the message of the innermost error."""
    data = event.step_failure_data
    if data.user_failure_data is not None and data.user_failure_data.description:
        return data.user_failure_data.description
    error = data.error
    while error is not None and error.cause is not None:
        error = error.cause
    return error.message.strip() if error is not None else "the step failed"
