"""The archive's bytes are a function of its contents; extraction refuses each trick by the name of its rule."""

import gzip
import io
import tarfile

import pytest

from tcg_core.submission import archive as module
from tcg_core.submission.archive import ArchiveRefused, extract_archive, write_archive

FILES = {"main.py": b"x = 1\n", "tcg_core/__init__.py": b"", "deck.csv": b"1\n"}


def pack(path, *members, **contents):
    with tarfile.open(path, "w:gz") as out:
        for member in members:
            out.addfile(member, io.BytesIO(b"x" * member.size))
        for name, data in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return path


def member(name, kind=tarfile.REGTYPE, size=0, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, link
    return info


def rule(path, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(ArchiveRefused) as caught:
        extract_archive(path, folder)
    assert not any(folder.rglob("*")), "something was written before the refusal"
    return caught.value.rule


def test_same_files_same_bytes_and_they_come_back(tmp_path):
    first, second, out = tmp_path / "a.tar.gz", tmp_path / "b.tar.gz", tmp_path / "out"
    write_archive(first, FILES)
    write_archive(second, dict(reversed(FILES.items())))
    assert first.read_bytes() == second.read_bytes()
    out.mkdir()
    assert extract_archive(first, out) == sorted(FILES)
    assert {name: (out / name).read_bytes() for name in FILES} == FILES


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (member("/etc/passwd"), "absolute_path"),
        (member("../outside"), "parent_path"),
        (member("a/../../b"), "parent_path"),
        (member("link", tarfile.SYMTYPE, link="/etc/passwd"), "link"),
        (member("hard", tarfile.LNKTYPE, link="main.py"), "link"),
        (member("pipe", tarfile.FIFOTYPE), "special_file"),
        (member("device", tarfile.CHRTYPE), "special_file"),
        (member("kaggle.json"), "secret"),
        (member("conf/private.key"), "secret"),
        (member("mlx/core.py"), "forbidden_member"),
        (member("tcg_core/__pycache__/x.py"), "forbidden_member"),
        (member("weights.pt"), "forbidden_member"),
        (member("native.so"), "forbidden_member"),
    ],
)
def test_each_bad_member_has_its_rule(tmp_path, bad, expected):
    assert rule(pack(tmp_path / "x.tar.gz", bad), tmp_path) == expected


def test_a_member_twice_is_refused(tmp_path):
    assert rule(pack(tmp_path / "x.tar.gz", member("main.py"), member("Main.py")), tmp_path) == "duplicate"


def test_a_bomb_is_refused_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_EXTRACTED", 10_000)
    assert rule(pack(tmp_path / "x.tar.gz", member("big", size=20_000)), tmp_path) == "extracted_size"
    monkeypatch.setattr(module, "LARGEST_ARCHIVE", 10)
    (tmp_path / "out").rmdir()
    assert rule(pack(tmp_path / "x.tar.gz", member("big", size=20)), tmp_path) == "size"


def test_what_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "x.tar.gz"
    path.write_bytes(b"not one")
    assert rule(path, tmp_path) == "format"
    (tmp_path / "out").rmdir()
    whole = gzip.compress(b"also not one" * 1000)
    path.write_bytes(whole[: len(whole) // 2])
    assert rule(path, tmp_path) == "format"


def test_a_cut_archive_is_refused(tmp_path):
    path = pack(tmp_path / "x.tar.gz", **{"main.py": bytes(range(256)) * 400})
    path.write_bytes(path.read_bytes()[:-100])
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(ArchiveRefused, match="format"):
        extract_archive(path, out)
