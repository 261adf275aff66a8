"""Kinds of day artifacts, and how a manifest of one is seen before it is promoted."""

from dataclasses import replace

from tcg_core.base.manifest import Manifest

ARCHIVE, STAGED, DAY = "day_archive", "staged_day", "parquet_day"


def archive_manifest(sha256: str, name: str) -> Manifest:
    """A taken archive as an artifact: a lone file, identified by its own SHA-256 (of which the id is the head)."""
    return Manifest(ARCHIVE, sha256[:16], (), {}, "", {}, {name: sha256})


def as_staged(manifest: Manifest) -> Manifest:
    """A day's manifest names what it is to become; before promotion the registry knows it as staged, under the same id."""
    return replace(manifest, kind=STAGED)
