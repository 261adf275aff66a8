"""What is published outlives a loss of power: each publishing function, and each user of one, watched at its calls."""

import ast
import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcg_core.base import atomic
from tcg_core.base.home import Home
from tcg_core.base.manifest import Manifest, write_manifest
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import add_archive, take_archive
from tcg_core.fetch.days import fetch_days
from tcg_core.fetch.index import Published, dataset_of
from tcg_core.ops.objects import Store
from tcg_core.train.runs import pointers
from tests.conftest import DAY, GOLDEN
from tests.durability import NotDurable, watched, without_fsync
from tests.fetch.test_days import Shelf

PROJECT = Path(__file__).resolve().parents[2]
#: A step of a pipeline: what is there before, and what is watched.
Case = tuple[Callable[[Path], Any], Callable[[Path], Any]]


def nothing(root: Path) -> None:
    """No preparation."""


def a_file(root: Path) -> None:
    (root / "here").mkdir()
    (root / "here" / "file").write_bytes(b"old")


def a_temporary(root: Path) -> None:
    (root / ".tmp-1").write_bytes(b"new")


def a_tree(root: Path) -> None:
    (root / "here" / "tree" / "deeper").mkdir(parents=True)
    for name in ("a", "deeper/b"):
        (root / "here" / "tree" / name).write_bytes(name.encode())


def publish_tree(root: Path) -> None:
    with atomic.publishing(root / "new" / "artifact") as temporary:
        (temporary / "a").write_bytes(b"1")
        (temporary / "deeper").mkdir()
        (temporary / "deeper" / "b").write_bytes(b"2")


def replace_large(root: Path) -> None:
    with atomic.replacing(root / "file") as temporary, temporary.open("wb") as file:
        for _ in range(100):
            file.write(b"x" * 10_000)


def a_step(root: Path) -> None:
    (root / "step_1").mkdir()
    write_manifest(root / "step_1", Manifest("checkpoint_step", "x", (), {}, "", {}, {}))


def from_another_disk(root: Path) -> None:
    """The first rename says that it would have to copy."""
    real, first = atomic.publish, iter([True])

    def publish(temporary: Path, path: Path) -> None:
        if next(first, False):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        real(temporary, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atomic, "publish", publish)
        atomic.move(root / "here" / "file", root / "there" / "file")


FUNCTIONS: dict[str, Case] = {
    "write_bytes": (nothing, lambda root: atomic.write_bytes(root / "new" / "file", b"x")),
    "write_bytes over another": (a_file, lambda root: atomic.write_bytes(root / "here" / "file", b"x")),
    "write_json": (nothing, lambda root: atomic.write_json(root / "file.json", {"a": 1})),
    "replacing": (nothing, replace_large),
    "publishing": (nothing, publish_tree),
    "publish": (a_temporary, lambda root: atomic.publish(root / ".tmp-1", root / "file")),
    "move of a file": (a_file, lambda root: atomic.move(root / "here" / "file", root / "there" / "file")),
    "move of a directory": (a_tree, lambda root: atomic.move(root / "here" / "tree", root / "days" / "x" / "tree")),
    "move from another disk": (a_file, from_another_disk),
    "a pointer": (a_step, lambda root: pointers.point(root, "latest", root / "step_1", 1)),
}


def home_of(root: Path) -> Home:
    return Home(root / "data")


def prepared(root: Path) -> None:
    home_of(root).prepare()


def added(root: Path) -> None:
    add_archive(home_of(root).prepare(), GOLDEN / f"{DAY}.zip")


def taken(root: Path) -> None:
    added(root)
    take_archive(home_of(root), DAY)


def staged(root: Path) -> None:
    taken(root)
    assert build_day(home_of(root), DAY).passed


def fetch(root: Path) -> None:
    shelf = Shelf({dataset_of(DAY): GOLDEN / f"{DAY}.zip"})
    assert fetch_days(home_of(root), shelf, [Published(DAY, dataset_of(DAY), 5)]).fetched


USERS: dict[str, Case] = {
    "a new home": (nothing, prepared),
    "a day is fetched": (prepared, fetch),
    "an archive is added": (prepared, lambda root: add_archive(home_of(root), GOLDEN / f"{DAY}.zip")),
    "an archive is taken": (added, lambda root: take_archive(home_of(root), DAY)),
    "a day is built": (taken, lambda root: build_day(home_of(root), DAY)),
    "a day is promoted": (staged, lambda root: promote_day(home_of(root), DAY)),
    "an object is backed up": (a_file, lambda root: Store(root / "backup").put(root / "here" / "file", None)),
}
#: Without content to flush: only the directories matter.
NAMES_ONLY: dict[str, Case] = {
    "make_directory": (nothing, lambda root: atomic.make_directory(root / "a" / "b" / "c")),
    "discard": (a_tree, lambda root: atomic.discard(root / "here" / "tree")),
    "an old checkpoint goes": (a_step, lambda root: pointers.remove_unpointed(root)),
    "a new home": USERS.pop("a new home"),
}


@pytest.mark.parametrize("case", [*FUNCTIONS, *USERS, *NAMES_ONLY])
def test_content_then_name_then_directory(tmp_path: Path, case: str) -> None:
    before, act = (FUNCTIONS | USERS | NAMES_ONLY)[case]
    before(tmp_path)
    with watched(tmp_path) as recorder:
        act(tmp_path)
    made_only = case in ("make_directory", "a new home")
    assert bool(recorder.renames) is not made_only, "nothing was published: the case shows nothing"


@pytest.mark.parametrize("case", [*FUNCTIONS, *USERS])
def test_a_file_that_is_not_flushed_is_seen(tmp_path: Path, case: str) -> None:
    before, act = (FUNCTIONS | USERS)[case]
    before(tmp_path)
    with pytest.raises(NotDurable, match=r"before .* is on the disk"), watched(tmp_path), without_fsync(directories=False):
        act(tmp_path)


@pytest.mark.parametrize("case", [*FUNCTIONS, *USERS, *NAMES_ONLY])
def test_a_directory_that_is_not_flushed_is_seen(tmp_path: Path, case: str) -> None:
    before, act = (FUNCTIONS | USERS | NAMES_ONLY)[case]
    before(tmp_path)
    with pytest.raises(NotDurable), watched(tmp_path), without_fsync(directories=True):
        act(tmp_path)


@pytest.mark.parametrize("forgotten", ["a", "deeper/b", "deeper"])
def test_every_entry_of_a_directory_is_flushed_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: str
) -> None:
    real = atomic._flush

    def flush(path: Path) -> None:
        if not path.match(f"{atomic.TEMP_PREFIX}*/{forgotten}"):
            real(path)

    monkeypatch.setattr(atomic, "_flush", flush)
    with pytest.raises(NotDurable, match=f"before {Path(forgotten).name} is on the disk"), watched(tmp_path):
        publish_tree(tmp_path)


def test_a_write_after_the_flush_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = atomic._flush

    def flush(path: Path) -> None:
        real(path)
        path.write_bytes(b"later")

    monkeypatch.setattr(atomic, "_flush", flush)
    with pytest.raises(NotDurable, match=r"before .* is on the disk"), watched(tmp_path):
        atomic.write_bytes(tmp_path / "file", b"x")


def test_a_pointer_before_what_it_names_is_seen(tmp_path: Path) -> None:
    a_step(tmp_path)
    (tmp_path / "step_1").rename(tmp_path / ".tmp-1")
    words = r"new name step_2 in .* is not on the disk when latest\.json gets its name"
    with pytest.raises(NotDurable, match=words), watched(tmp_path):
        atomic._flush(tmp_path / ".tmp-1")
        (tmp_path / ".tmp-1").rename(tmp_path / "step_2")
        pointers.point(tmp_path, "latest", tmp_path / "step_2", 2)


def test_only_one_file_renames_and_flushes() -> None:
    """The board appends to a file, and what a stranger left is renamed to be removed: neither is a publication."""
    allowed = {("tcg_core/base/atomic.py", name) for name in ("fsync", "rename", "replace")}
    allowed |= {("tcg_core/train/board.py", "fsync"), ("tcg_core/submission/host/tree.py", "rename")}
    found = set()
    for path in sorted([*PROJECT.glob("tcg_core/**/*.py"), *PROJECT.glob("tcg_assets/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of_os = isinstance(node.func.value, ast.Name) and node.func.value.id in ("os", "shutil")
                # str.replace has two arguments, that of a date or a dataclass names them.
                of_path = len(node.args) == 1 and not node.keywords and node.func.attr in ("rename", "replace")
                if of_path or (of_os and node.func.attr in ("rename", "renames", "replace", "link", "fsync", "move")):
                    found.add((str(path.relative_to(PROJECT)), node.func.attr))
    assert found == allowed
