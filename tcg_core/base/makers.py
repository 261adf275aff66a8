"""Which command makes what lies in a directory of a data home. A refusal names it, as it mends what is damaged or lost."""

from pathlib import Path

OUTSIDE_IDENTITY = "words of a refusal"

#: By the directory of the home: the command, with what the artifact was made of in the place of ``{}``.
_COMMANDS = {
    "cards": "tcg cards build",
    "ratings": "tcg catalog ratings",
    "plans": "tcg plan build --recipe RECIPE.json",
    "artifacts": "tcg convert {}",
    "submissions": "tcg submit pack {}",
    "tournaments": "tcg tournament",
}
#: What the placeholder stands for where the manifest does not say it.
_UNNAMED = {"artifacts": "RUN", "submissions": "ARTIFACT"}


def mended_by(directory: Path, made_of: str = "") -> str:
    """The end of a refusal that names a damaged artifact's directory; "" for a directory that is of no data home.

    made_of: the id of its first input, if that is known. The artifact is made of the same inputs and options as before.
    """
    parent, above = directory.parent, directory.parent.parent
    if parent.name in _COMMANDS:
        command = _COMMANDS[parent.name].format(made_of or _UNNAMED.get(parent.name, ""))
    elif above.name in ("days", "staging"):
        command = f"tcg day build {parent.name}"
    elif above.name == "drift":
        command = f"tcg backfill {parent.name} {parent.name}"
    elif "checkpoints" in (parent.name, above.name):
        run = directory.name if parent.name == "checkpoints" else parent.name
        return f"; `tcg restore` has it as it was, `tcg train {run} --again` trains it anew"
    else:
        return ""
    return f"; `{command}` makes it again"
