"""Whether a day needs to be built at all."""

from tcg_assets.code import code_version
from tcg_core.home import Home


def why_current(home: Home, day: str) -> str:
    """The reason why ``day`` needs no run, "" if it needs one.

    Current is a validated dataset on disk, made by the present code from the recorded archive, while the inbox holds
    either nothing for the day or that same archive (compared by the digest of its central directory).
    """
    from tcg_core.catalog.connection import catalog
    from tcg_core.catalog.datasets import datasets_of
    from tcg_core.catalog.days import day_row
    from tcg_core.errors import UnknownId
    from tcg_core.replay.archive import open_archive

    with catalog(home) as connection:
        try:
            row = day_row(connection, day)
        except UnknownId:
            return ""
        validated = datasets_of(connection, day, "validated")
    if not validated:
        return ""
    [dataset] = validated
    if dataset.archive_sha256 != row.archive_sha256 or dataset.code != code_version("staged_day"):
        return ""
    if not (home.root / dataset.path).exists():
        return ""
    waiting = home.inbox / f"{day}.zip"
    if waiting.is_file():
        with open_archive(waiting) as archive:
            if archive.directory_digest != row.directory_digest:
                return ""
    return f"validated dataset {dataset.dataset_id} of archive {row.archive_sha256[:12]} is current"
