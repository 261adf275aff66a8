"""Which file system a path lies on: SQLite's locks do not hold on network file systems."""

import subprocess
import sys
from pathlib import Path

NETWORK_TYPES = frozenset(
    (
        *("nfs", "nfs3", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afpfs", "webdav", "davfs", "ceph", "lustre", "glusterfs"),
        *("beegfs", "9p", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.glusterfs"),
    )
)


def mounts() -> list[tuple[str, str]]:
    """Mount points and their file system types; empty where the platform does not tell."""
    if sys.platform == "darwin":
        return parse_darwin(subprocess.run(["/sbin/mount"], capture_output=True, text=True, check=True).stdout)
    table = Path("/proc/self/mounts")
    return parse_linux(table.read_text()) if table.is_file() else []


def parse_linux(text: str) -> list[tuple[str, str]]:
    """Lines ``device point type options ...``; blanks in a point are octal escapes."""
    fields = (line.split(" ") for line in text.splitlines())
    return [(f[1].encode().decode("unicode_escape"), f[2]) for f in fields if len(f) > 2]


def parse_darwin(text: str) -> list[tuple[str, str]]:
    """Lines ``device on point (type, options)``."""
    found = []
    for line in text.splitlines():
        _, _, rest = line.partition(" on ")
        point, _, options = rest.rpartition(" (")
        if point:
            found.append((point, options.split(",")[0].rstrip(")")))
    return found


def network_type(path: Path, table: list[tuple[str, str]] | None = None) -> str | None:
    """The type of the network file system that holds ``path`` (absolute), None if it is a local one."""
    best = ("", "")
    for point, kind in mounts() if table is None else table:
        if path.is_relative_to(point) and len(point) >= len(best[0]):
            best = (point, kind)
    kind = best[1]
    return kind if kind in NETWORK_TYPES else None
