"""The table of edits: what each kind of change to the project makes another code version of, and what it does not."""

import importlib.metadata
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tcg_core.base import code
from tcg_core.base.code import PRODUCERS, closure_of, version_in
from tcg_core.base.identity import Index
from tcg_core.base.source import read_source

ROOT = Path(__file__).resolve().parents[2]
NOTHING: frozenset[str] = frozenset()
DAYS = frozenset({"day_catalog", "staged_day", "parquet_day"})
SUBMISSION = frozenset({"submission"})
#: Whoever reads or writes rows reads the schema.
ROWS = DAYS | {"work_plan", "mlx_checkpoint", "torch_artifact"} | SUBMISSION
#: The look-ahead reads replays with the parser of the days.
PARSED = DAYS | {"would_ko"}
NETWORK = frozenset({"mlx_checkpoint", "torch_artifact"})
Edit = Callable[[Path], None]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "tcg_core", root / "tcg_core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


@pytest.fixture(scope="module")
def unedited(pristine: Path) -> dict[str, str]:
    return versions(pristine)


def versions(root: Path) -> dict[str, str]:
    index = Index(read_source(root))
    return {asset: version_in(index, asset) for asset in PRODUCERS}


def replace(file: str, old: str, new: str) -> Edit:
    def edit(root: Path) -> None:
        text = (root / file).read_text()
        assert old in text, f"{file} has no {old!r}"
        (root / file).write_text(text.replace(old, new, 1))

    return edit


def append(file: str, text: str = "\n\n# edited\n") -> Edit:
    def edit(root: Path) -> None:
        with (root / file).open("a") as out:
            out.write(text)

    return edit


def move(old: str, new: str) -> Edit:
    """Moves a file and rewrites every import of it."""
    before, after = (name.removesuffix(".py").replace("/", ".") for name in (old, new))

    def edit(root: Path) -> None:
        (root / old).rename(root / new)
        for path in root.rglob("*.py"):
            text = path.read_text()
            if before in text:
                path.write_text(text.replace(before, after))

    return edit


EDITS: dict[str, tuple[Edit, frozenset[str]]] = {
    "the version of the package": (replace("pyproject.toml", 'version = "', 'version = "9.'), NOTHING),
    "the progress bar": (
        replace("tcg_core/base/progress.py", "_SECONDS_BETWEEN_LINES = 5.0", "_SECONDS_BETWEEN_LINES = 9.0"),
        NOTHING,
    ),
    "a word in the docstring of the progress bar": (
        replace("tcg_core/base/progress.py", '"""Progress', '"""The progress'),
        NOTHING,
    ),
    "how files are written": (
        replace("tcg_core/base/atomic.py", 'TEMP_PREFIX = ".tmp-"', 'TEMP_PREFIX = ".temporary-"'),
        NOTHING,
    ),
    "the picture of a day": (append("tcg_core/days/plots.py", "\nCOLOUR = 'red'\n"), NOTHING),
    "the picture of a run": (append("tcg_core/train/curves.py", "\nCOLOUR = 'red'\n"), NOTHING),
    "TensorBoard": (append("tcg_core/train/board.py", "\nEXTRA = 1\n"), NOTHING),
    "the registry": (append("tcg_core/catalog/registry.py", "\nEXTRA = 1\n"), NOTHING),
    "a check of days": (append("tcg_core/days/checks/order.py", "\nEXTRA = 1\n"), NOTHING),
    "how processes share a day": (
        replace("tcg_core/days/pool.py", "CHUNK_MEMBERS, CHUNK_BYTES = 16", "CHUNK_MEMBERS, CHUNK_BYTES = 8"),
        NOTHING,
    ),
    "the packer of submissions": (append("tcg_core/submission/archive.py", "\nEXTRA = 1\n"), NOTHING),
    "a comment in the writer of rows": (append("tcg_core/rows/writer.py"), NOTHING),
    "a comment in the loss": (append("tcg_core/train/loss.py"), NOTHING),
    "the text of a refusal": (replace("tcg_core/train/step.py", 'raise Diverged(f"', 'raise Diverged(f"so '), NOTHING),
    "a log line of the trainer": (replace("tcg_core/train/session.py", 'LOG.info("run', 'LOG.info("the run'), NOTHING),
    # The bytes that a submission packs are its identity; a comment in them makes another submission and nothing else.
    "a comment in the encoder": (append("tcg_core/encode/options.py"), SUBMISSION),
    "a docstring in the encoder": (replace("tcg_core/encode/options.py", '"""Options', '"""The options'), SUBMISSION),
    "a comment in the network at play": (append("tcg_core/model/torch_net.py"), SUBMISSION),
    # What an edit of behaviour reaches.
    "what the encoder does": (
        replace("tcg_core/encode/state.py", "turn, state.turn_action_count", "2 * turn, state.turn_action_count"),
        DAYS | SUBMISSION,
    ),
    "the auxiliary targets": (replace("tcg_core/encode/targets.py", "PRIZES = 6", "PRIZES = 7"), DAYS | SUBMISSION),
    "the schema": (replace("tcg_core/encode/schema.py", "SCHEMA_VERSION = ", "SCHEMA_VERSION = 1000 + "), ROWS),
    "the writer of rows": (replace("tcg_core/rows/writer.py", "ROW_GROUP_ROWS = ", "ROW_GROUP_ROWS = 1 + "), DAYS),
    "a quarantine's text, which a day stores": (
        replace("tcg_core/replay/outcome.py", 'raise OutcomeConflict(f"', 'raise OutcomeConflict(f"so '),
        PARSED,
    ),
    "the loss": (replace("tcg_core/train/loss.py", "BINARY = ", "BINARY = () or "), frozenset({"mlx_checkpoint"})),
    "the optimizer": (replace("tcg_core/train/optimizer.py", "NS_STEPS = ", "NS_STEPS = 1 + "), frozenset({"mlx_checkpoint"})),
    "the first weights": (
        replace("tcg_core/model/init.py", "EMBEDDING_STD = ", "EMBEDDING_STD = 2 * "),
        frozenset({"mlx_checkpoint"}) | SUBMISSION,
    ),
    "the cutting of chunks": (replace("tcg_core/plan/split.py", "_WHOLE = ", "_WHOLE = 0 + "), frozenset({"work_plan"})),
    "the parity proof": (append("tcg_core/convert/replay.py", "\n\ndef unused() -> int:\n    return 1\n"), NOTHING),
    "the verdict": (replace("tcg_core/arena/verdict.py", "CLEAN_SHARE = ", "CLEAN_SHARE = 0 + "), frozenset({"champion"})),
    # Where a file lies is no part of what it does; the packed bytes do name their files.
    "a moved file": (move("tcg_core/days/members.py", "tcg_core/replay/members.py"), NOTHING),
    "a moved file of the trainer": (move("tcg_core/train/schedule.py", "tcg_core/plan/schedule.py"), NOTHING),
    "a moved file of the encoder": (move("tcg_core/encode/targets.py", "tcg_core/encode/aux.py"), SUBMISSION),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_exactly_what_it_makes(
    name: str, pristine: Path, unedited: dict[str, str], tmp_path: Path, monkeypatch
) -> None:
    edit, stale = EDITS[name]
    root = tmp_path / "tree"
    shutil.copytree(pristine, root)
    edit(root)
    if name == "a moved file":
        # The table of roots names modules, so whoever moves a root says so there.
        producer = PRODUCERS["staged_day"]
        roots = tuple(each.replace("tcg_core.days.members", "tcg_core.replay.members") for each in producer.roots)
        for asset in DAYS:
            monkeypatch.setitem(PRODUCERS, asset, code.Producer(roots, producer.libraries))
    after = versions(root)
    assert {asset for asset, version in after.items() if version != unedited[asset]} == stale


@pytest.mark.parametrize(
    ("library", "stale"),
    [
        ("matplotlib", NOTHING),
        ("pyarrow", NOTHING),
        ("tensorboard", NOTHING),
        ("msgspec", DAYS),
        ("mlx", NETWORK),
        ("torch", frozenset({"torch_artifact"})),
        ("numpy", NETWORK | {"work_plan"}),
    ],
)
def test_another_version_of_a_library_counts_only_where_it_can_change_a_value(
    library: str, stale: frozenset[str], pristine: Path, unedited: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0.1" if name == library else real(name))
    after = versions(pristine)
    assert {asset for asset, version in after.items() if version != unedited[asset]} == stale


def test_a_root_that_is_gone_is_an_error_that_names_it(pristine: Path) -> None:
    with pytest.raises(KeyError, match=r"tcg_core\.days\.write_day:gone"):
        Index(read_source(pristine)).identity(["tcg_core.days.write_day:gone"])


def test_the_identity_of_a_day_covers_every_function_that_encodes_it() -> None:
    """A function of the encoder outside the identity would change rows in silence; these serve play or reading only."""
    index = code._index()
    covered = index.closure(PRODUCERS["staged_day"].roots)
    watched = ("tcg_core.encode.", "tcg_core.replay.")
    encoders = [name for name in index.source.modules if name.startswith(watched)]
    used = {module for module, _ in covered}
    left = {f"{m}:{d}" for m in encoders if m in used for d in index.module(m).definitions if (m, d) not in covered}
    assert left == {
        "tcg_core.encode.encoder:encode_decision",
        "tcg_core.encode.observation:from_dict",
        "tcg_core.encode.schema:index_of",
        "tcg_core.encode.would_ko:INPUT_ENTRIES",
        "tcg_core.encode.would_ko:NAMES",
        "tcg_core.replay.archive:_MEMBERS_CAP",
        "tcg_core.replay.archive:__all__",
        "tcg_core.replay.archive:_members",
        "tcg_core.replay.archive:open_archive",
        "tcg_core.replay.episode:__all__",
        "tcg_core.replay.errors:ArchiveError",
    }
    assert "tcg_core/encode/options.py" in closure_of("staged_day")
