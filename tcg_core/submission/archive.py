"""The submission's archive: bytes that are a function of its contents, and an extraction that trusts nothing."""

import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from tcg_core.base.errors import TcgError

#: Kaggle's limit on the archive.
LARGEST_ARCHIVE = int(197.7 * 1024 * 1024)
#: Our limits on what comes out of one: a small archive can hold a large disk.
LARGEST_EXTRACTED = 1 << 30
MOST_MEMBERS = 2000
SECRETS = (".key", ".pem", ".p12", ".env")
SECRET_NAMES = ("kaggle.json", "credentials", "id_rsa", "id_ed25519", ".netrc", ".git-credentials")
FORBIDDEN_PARTS = ("mlx", "dagster", "__pycache__", ".git", "site-packages")
FORBIDDEN_SUFFIXES = (".pyc", ".so", ".dylib", ".dll", ".pkl", ".pickle", ".pt", ".npz")


class ArchiveRefused(TcgError):
    """An archive that breaks a rule; ``rule`` is its name."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(rule, text)
        self.rule = rule
        self.text = text

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


def write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Writes a flat ``tar.gz``: sorted names, no times, no owners, so that equal files give equal bytes."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(files[name]), 0o644, 0
            archive.addfile(member, io.BytesIO(files[name]))


def extract_archive(path: Path, folder: Path) -> list[str]:
    """Extracts a submission into the empty ``folder``; returns the names of its files.

    Every member is judged before the first is written. Raises :class:`ArchiveRefused` naming the rule: size, format,
    absolute_path, parent_path, link, special_file, duplicate, members, extracted_size, forbidden_member, secret.
    """
    if not path.is_file():
        raise ArchiveRefused("format", f"{path}: no such file")
    if path.stat().st_size > LARGEST_ARCHIVE:
        raise ArchiveRefused("size", f"{path}: {path.stat().st_size} bytes, at most {LARGEST_ARCHIVE} are allowed")
    if any(folder.iterdir()):
        raise ArchiveRefused("format", f"{folder} is not empty")
    try:
        with tarfile.open(path, "r:gz") as archive:
            members = _judged(archive)
            for member in members:
                _write(archive, member, folder)
    except (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ArchiveRefused("format", f"{path} is no readable tar.gz: {error}") from None
    return sorted(member.name for member in members)


def _judged(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    members: list[tarfile.TarInfo] = []
    total = 0
    seen: set[str] = set()
    for count, member in enumerate(archive, start=1):
        if count > MOST_MEMBERS:
            raise ArchiveRefused("members", f"more than {MOST_MEMBERS} members")
        check_name(member.name)
        if member.issym() or member.islnk():
            raise ArchiveRefused("link", f"member {member.name!r} is a link to {member.linkname!r}")
        if member.isdir():
            continue
        if not member.isreg():
            raise ArchiveRefused("special_file", f"member {member.name!r} is neither a file nor a directory")
        folded = member.name.casefold()
        if folded in seen:
            raise ArchiveRefused("duplicate", f"member {member.name!r} is there twice")
        seen.add(folded)
        total += member.size
        if total > LARGEST_EXTRACTED:
            raise ArchiveRefused("extracted_size", f"more than {LARGEST_EXTRACTED} bytes come out of it")
        members.append(member)
    return members


def check_name(name: str) -> None:
    """Raises :class:`ArchiveRefused` for a member's name that leads out of the folder or must not be shipped."""
    pure = PurePosixPath(name)
    if pure.is_absolute() or name.startswith("\\") or (len(name) > 1 and name[1] == ":"):
        raise ArchiveRefused("absolute_path", f"member {name!r}")
    if ".." in pure.parts or "\\" in name:
        raise ArchiveRefused("parent_path", f"member {name!r}")
    lowered = [part.casefold() for part in pure.parts]
    if lowered and (lowered[-1] in SECRET_NAMES or lowered[-1].endswith(SECRETS)):
        raise ArchiveRefused("secret", f"member {name!r} looks like a secret")
    if any(part in FORBIDDEN_PARTS for part in lowered) or (lowered and lowered[-1].endswith(FORBIDDEN_SUFFIXES)):
        raise ArchiveRefused("forbidden_member", f"member {name!r}")


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    target = folder / member.name
    target.parent.mkdir(parents=True, exist_ok=True)
    source = archive.extractfile(member)
    if source is None:
        raise ArchiveRefused("format", f"member {member.name!r} has no content")
    data = source.read(member.size)
    if len(data) != member.size:
        raise ArchiveRefused("format", f"member {member.name!r} is cut short")
    target.write_bytes(data)
