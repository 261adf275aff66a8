"""A catalog that knows less than what lies in the home: the old one was lost, and a command made a new one since."""

from pathlib import Path

from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.promotions import unknown_decisions

#: What to do; :mod:`tcg_core.ops.rebuild` takes a catalog that is behind for a lost one.
REMEDY = "the catalog is newer than what lies in the home, the old one was lost: `tcg catalog rebuild` restores what it knew"


def catalog_behind(home: Home) -> str:
    """One line if decisions or checked artifacts lie in the home that the catalog does not know, with the command; else "".

    Only names are compared, and nothing is created: a home without a catalog has whatever lies there to be restored.
    """
    records = _check_records(home)
    if home.catalog.is_file():
        with catalog(home) as connection:
            decisions = len(unknown_decisions(home, connection))
            known = {(row["kind"], row["id"]) for row in connection.execute("SELECT kind, id FROM artifacts")}
    else:
        decisions, known = len(unknown_decisions(home, None)), set()
    # A clean-up removes the record of checks before the row: a record without a row was never cleaned up.
    artifacts = len(records - known)
    if not decisions and not artifacts:
        return ""
    found = [f"{decisions} decisions about the champion"] * bool(decisions) + [f"{artifacts} checked artifacts"] * bool(artifacts)
    return f"{home.catalog} does not know {' and '.join(found)} that lie in {home.root}: {REMEDY}"


def _check_records(home: Home) -> set[tuple[str, str]]:
    root = home.root / "checks"
    return {(_kind(root, path), _id(root, path)) for path in root.glob("*/**/[!.]*.json")}


def _kind(root: Path, path: Path) -> str:
    return path.relative_to(root).parts[0]


def _id(root: Path, path: Path) -> str:
    return path.relative_to(root / _kind(root, path)).with_suffix("").as_posix()
