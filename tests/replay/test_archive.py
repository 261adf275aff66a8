"""Day archives: what is refused as a whole, and what costs one member only."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcg_core.replay import archive as module
from tcg_core.replay.archive import ArchiveError, open_archive
from tcg_core.replay.errors import Quarantine
from tests.golden.replays import ARCHIVES, replay

ROOT = Path(__file__).resolve().parents[2]
quiet = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
names = st.builds("{}{:0{}d}.json".format, st.sampled_from(["", "day/", "a/b/"]), st.integers(0, 5), st.integers(1, 4))


def write(path: Path, members: list[tuple[str, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members:
            file.writestr(name, data)
    return path


def test_members_in_order_of_episode(tmp_path: Path) -> None:
    path = write(tmp_path / "day.zip", [("10.json", b"ten"), ("sub/9.json", b"nine")])
    with open_archive(path) as archive:
        assert [(m.name, m.episode_id, m.size) for m in archive.members] == [("sub/9.json", 9, 4), ("10.json", 10, 3)]
        assert [archive.read(member) for member in archive.members] == [b"nine", b"ten"]


def test_digests_tell_content_from_container(tmp_path: Path) -> None:
    one = open_archive(write(tmp_path / "a.zip", [("1.json", b"x" * 99)]))
    other = open_archive(write(tmp_path / "b.zip", [("1.json", b"x" * 98 + b"y")]))
    assert one.directory_digest != other.directory_digest and one.sha256 != other.sha256
    assert open_archive(ARCHIVES[0]).directory_digest == open_archive(ARCHIVES[0]).directory_digest


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ([], "no members"),
        ([("1.json", b"a"), ("1.json", b"b")], "episode 1 twice"),
        ([("1.json", b"a"), ("01.json", b"b")], "episode 1 twice"),
        ([("1.json", b"a"), ("notes.txt", b"b")], "notes.txt"),
        ([("9" * 19 + ".json", b"a")], "not named"),
    ],
)
def test_archives_refused_by_name(tmp_path: Path, members: list[tuple[str, bytes]], complaint: str) -> None:
    path = write(tmp_path / "2026-01-01.zip", members)
    with pytest.raises(ArchiveError, match=complaint) as caught:
        open_archive(path)
    assert "2026-01-01.zip" in str(caught.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@quiet
@given(members=st.lists(names, min_size=1, max_size=6))
def test_duplicated_members_are_always_refused_and_named(tmp_path: Path, members: list[str]) -> None:
    """Whether the very same name or another spelling of the same episode id, in whatever folder."""
    path = write(tmp_path / "2026-01-01.zip", [(name, name.encode()) for name in members])
    ids = [int(Path(name).stem) for name in members]
    if len(set(ids)) == len(ids):
        with open_archive(path) as archive:
            assert [member.episode_id for member in archive.members] == sorted(ids)
            assert {archive.read(member) for member in archive.members} == {name.encode() for name in members}
        return
    with pytest.raises(ArchiveError, match=r"2026-01-01\.zip: episode \d twice") as caught:
        open_archive(path)
    assert any(f"episode {id} twice" in str(caught.value) for id in ids if ids.count(id) > 1)


@quiet
@given(where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255), cut=st.booleans())
def test_a_damaged_archive_never_gives_other_bytes(tmp_path: Path, where: float, flip: int, cut: bool) -> None:
    """One byte changed, or the end cut off: the archive is refused, or each member is refused or read as it was."""
    content = {f"{number}.json": bytes(range(256)) * number for number in (1, 2, 3)}
    data = bytearray(write(tmp_path / "day.zip", list(content.items())).read_bytes())
    place = int(where * len(data))
    data[place] ^= flip
    path = tmp_path / "damaged.zip"
    path.write_bytes(data[:place] if cut else data)
    try:
        archive = open_archive(path)
    except ArchiveError as refusal:
        assert "damaged.zip" in str(refusal)
        return
    with archive:
        for member in archive.members:
            try:
                found = archive.read(member)
            except Quarantine as refusal:
                assert refusal.reason in ("unreadable", "oversize")
            else:
                assert found in content.values()


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04 half a header"])
def test_no_zip_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "2026-01-01.zip"
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"2026-01-01\.zip.*not a readable zip"):
        open_archive(path)


def test_a_missing_file_and_a_cut_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="no such file"):
        open_archive(tmp_path / "none.zip")
    cut = tmp_path / "cut.zip"
    cut.write_bytes(ARCHIVES[0].read_bytes()[:100_000])
    with pytest.raises(ArchiveError, match="not a readable zip"):
        open_archive(cut)


def test_one_damaged_member_costs_that_member(tmp_path: Path) -> None:
    path = write(tmp_path / "day.zip", [("1.json", bytes(range(256)) * 40), ("2.json", b"fine")])
    data = bytearray(path.read_bytes())
    data[60] ^= 0xFF
    path.write_bytes(data)
    with open_archive(path) as archive:
        first, second = archive.members
        with pytest.raises(Quarantine) as caught:
            archive.read(first)
        assert caught.value.reason == "unreadable" and "1.json" in caught.value.text
        assert archive.read(second) == b"fine"


def test_an_oversized_member_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EPISODE_BYTES_CAP", 3)
    with open_archive(write(tmp_path / "day.zip", [("1.json", b"four")])) as archive, pytest.raises(Quarantine) as caught:
        archive.read(archive.members[0])
    assert caught.value.reason == "oversize"


def test_field_case_members_are_streamed_one_at_a_time(tmp_path: Path) -> None:
    """Parsing 80 copies of a real replay needs no more memory than parsing 5."""
    data = replay(85000011).data
    path = write(tmp_path / "day.zip", [(f"{number}.json", data) for number in range(1, 81)])
    code = (
        "import resource, sys, pathlib\n"
        "from tcg_core.replay.archive import open_archive\n"
        "from tcg_core.replay.episode import parse_episode\n"
        "with open_archive(pathlib.Path(sys.argv[1])) as archive:\n"
        "    for count, member in enumerate(archive.members):\n"
        "        parse_episode(archive.read(member), '85000011.json')\n"
        "        if count in (4, 79): print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, cwd=ROOT)
    few, many = (int(line) * (1 if sys.platform == "darwin" else 1024) for line in run.stdout.split())
    assert many - few < 10 * len(data) < 80 * len(data)
