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
    command = _command(directory, made_of)
    if command.startswith("tcg train"):
        return f"; `tcg restore` has it as it was, `{command} --again` trains it anew"
    return f"; `{command}` makes it again" if command else ""


def checked_by(directory: Path) -> str:
    """The end of a refusal that names the directory of an artifact that was never checked; "" outside a data home."""
    command = _command(directory)
    return f"; `{command}` checks it" if command else ""


def _command(directory: Path, made_of: str = "") -> str:
    """The command that makes what lies in ``directory``, and reuses and checks it where it is whole; "" if none does."""
    parent, above = directory.parent, directory.parent.parent
    if parent.name in _COMMANDS:
        return _COMMANDS[parent.name].format(made_of or _UNNAMED.get(parent.name, ""))
    if above.name in ("days", "staging"):
        return f"tcg day build {parent.name}"
    if above.name == "drift":
        return f"tcg backfill {parent.name} {parent.name}"
    if "checkpoints" in (parent.name, above.name):
        return f"tcg train {directory.name if parent.name == 'checkpoints' else parent.name}"
    return ""
