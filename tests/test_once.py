"""What stands once: each thing that several places need is made in one of them. The source itself is counted."""

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*PROJECT.glob("tcg_core/**/*.py"), *PROJECT.glob("tcg_assets/**/*.py")])


def files(*wanted: str) -> Iterator[tuple[str, ast.AST]]:
    """Path and syntax of each source file, or of those whose path begins with one of ``wanted``."""
    for path in SOURCES:
        name = path.relative_to(PROJECT).as_posix()
        if not wanted or name.startswith(wanted):
            yield name, ast.parse(path.read_text())


def uses(name: str, *wanted: str) -> set[str]:
    """Files that use a name, as ``name`` or as an attribute of anything, or import it."""
    found = set()
    for file, tree in files(*wanted):
        for node in ast.walk(tree):
            if (
                (isinstance(node, ast.Name) and node.id == name)
                or (isinstance(node, ast.Attribute) and node.attr == name)
                or (isinstance(node, ast.alias) and node.name.rpartition(".")[2] == name)
            ):
                found.add(file)
    return found


def texts(part: str) -> set[str]:
    """Files with a string constant that contains ``part``; docstrings are not looked into."""
    found = set()
    for file, tree in files():
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and part in node.value and id(node) not in prose:
                found.add(file)
    return found


def defining(name: str) -> list[str]:
    """The file of each function or class with this name."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [file for file, tree in files() for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name]


def test_one_lock() -> None:
    assert uses("flock") | uses("lockf") | uses("fcntl") == {"tcg_core/base/lock.py"}
    assert not uses("O_EXCL"), "a file that only says that it is there outlives a killed holder"
    holders = uses("hold")
    assert len(holders) >= 6, f"the lock is not used where one was: {sorted(holders)}"


def callers(name: str) -> set[str]:
    """Files that call a function, under its own name or as an attribute of anything."""
    return {file for file, tree in files() if name in _called(tree)}


#: Where an artifact's identity is made, and the asset whose code is part of it.
STAGES = {
    "tcg_core/cards/features.py": "card_features",
    "tcg_core/days/build.py": "staged_day",
    "tcg_core/days/drift.py": "field_drift",
    "tcg_core/ratings/stage.py": "ratings",
    "tcg_core/plan/build.py": "work_plan",
    "tcg_core/train/run.py": "mlx_checkpoint",
    "tcg_core/train/runs/checkpoint.py": "mlx_checkpoint",
    "tcg_core/convert/artifact.py": "torch_artifact",
    "tcg_core/submission/contents.py": "submission",
    "tcg_core/arena/tournament.py": "tournament",
}
#: What is no stage, and why; each file says it at the place.
NO_STAGE = {
    "tcg_core/days/take.py": "a file that came in, named by its own hash",
    "tcg_core/days/promote.py": "a directory that is renamed; a validated day that is verified again",
    "tcg_core/train/runs/bring_in.py": "a copy of another home's artifact, with its manifest and its checks",
}


def test_one_stage() -> None:
    stage = {"tcg_core/base/stage.py"}
    # A manifest says which id follows from it, so that an edited one shows.
    assert callers("artifact_id") == stage | {"tcg_core/base/manifest.py"}
    assert callers("write_manifest") == stage
    assert callers("publishing") == stage | {"tcg_core/train/runs/bring_in.py"}
    # The registry calls itself: its functions take a home, its registrar has one.
    assert callers("record_checks") == stage | set(NO_STAGE) | {"tcg_core/catalog/registry.py"}
    for file in NO_STAGE:
        assert "No Stage" in (PROJECT / file).read_text(), file
    # A step of a run is registered and checked with its run, a submission where it is packed.
    finished = set(STAGES) - {"tcg_core/train/runs/checkpoint.py", "tcg_core/submission/contents.py"}
    assert callers("finish") - {"tcg_core/replay/record.py"} == finished | {"tcg_core/submission/pack.py"}


def test_each_stage_names_the_asset_whose_code_it_runs() -> None:
    found = []
    for file, tree in files("tcg_core/"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Stage.of", "Stage.named"):
                asset = node.args[0]
                module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
                found.append((file, getattr(module, asset.id) if isinstance(asset, ast.Name) else ast.literal_eval(asset)))
    assert sorted(found) == sorted(STAGES.items())


def test_one_rule_for_what_is_damaged() -> None:
    """The stage discards it. The other calls are not about damage of an artifact that a stage has found by its id."""
    others = {
        "tcg_core/days/build.py": "a day in staging, found by its manifest",
        "tcg_core/days/promote.py": "a day in the place that a staged one takes",
        "tcg_core/train/runs/pointers.py": "a step that no pointer names",
        "tcg_core/ops/clean.py": "what retention gave up",
    }
    assert callers("discard") == {"tcg_core/base/stage.py"} | set(others)


def test_one_place_knows_how_fast_a_network_trains() -> None:
    """Whoever reads the rate of a run out of its facts decides which runs count; the trainer writes it."""
    assert texts("rows_per_second") == {"tcg_core/train/rate.py", "tcg_core/train/run.py", "tcg_core/train/shown.py"}
    assert uses("known_rate") == {"tcg_core/train/estimate.py", "tcg_core/nightly/budget.py"}


LINEAGE_WORDS = {"inputs", "inputs_of", "inputs_of_all", "users", "users_of", "_parents", "graph"}


def walkers(trees: Iterable[tuple[str, ast.AST]]) -> set[str]:
    """Functions that go from artifact to artifact by themselves: they recurse or work off a list of what waits, and read inputs
    of artifacts, or they let SQL recurse."""
    found = set()
    for file, tree in trees:
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and _walks(function):
                found.add(f"{file}:{function.name}")
    return found


def _walks(function: ast.FunctionDef) -> bool:
    nodes = list(ast.walk(function))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    read |= {node.id for node in nodes if isinstance(node, ast.Name)}
    reads = bool(read & LINEAGE_WORDS) or any("artifact_inputs" in text for text in texts)
    recurses = function.name in _called(function)
    works_off = any({"pop", "popleft"} & _called(node) for node in nodes if isinstance(node, ast.While))
    return (reads and (recurses or works_off)) or any("WITH RECURSIVE" in text for text in texts)


def _called(tree: ast.AST) -> set[str]:
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {f.id for f in functions if isinstance(f, ast.Name)} | {f.attr for f in functions if isinstance(f, ast.Attribute)}


FORMER_WALKS = """
def lineage(graph, roots):
    found, waiting = set(), list(roots)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting.extend(graph.get(key, ()))

def users_of(connection, key):
    waiting = [key]
    while waiting:
        waiting += connection.execute("SELECT kind, id FROM artifact_inputs WHERE input_id = ?", waiting.pop(0))

def collect(wanted, parts):
    for item in read_manifest(wanted).inputs:
        collect(item, parts)

class Forward:
    def below(self, key):
        for user in self.users.get(key, ()):
            self.below(user)

def behind(connection):
    connection.execute("WITH RECURSIVE behind AS (SELECT 1) SELECT * FROM behind")

def versions(inputs):
    return [item.sha256 for item in inputs]
"""


def test_a_second_walk_would_be_found() -> None:
    found = walkers([("x", ast.parse(FORMER_WALKS))])
    assert found == {f"x:{name}" for name in ("lineage", "users_of", "collect", "below", "behind")}


def test_one_walk_over_the_lineage_graph() -> None:
    assert defining("_walk") == ["tcg_core/base/graph.py"]
    assert defining("Graph") == ["tcg_core/base/graph.py"]
    assert walkers(files()) == set()
    users = uses("back") | uses("made_first") | uses("forward") | uses("heights") | uses("ways")
    assert {
        "tcg_core/catalog/seen.py",
        "tcg_core/lineage/days.py",
        "tcg_core/lineage/uses.py",
        "tcg_core/lineage/walk.py",
        "tcg_core/ops/clean.py",
        "tcg_core/ops/plan.py",
        "tcg_core/ops/reach.py",
        "tcg_core/train/runs/bring_in.py",
    } <= users | uses("read", "tcg_core/lineage/days.py")


def test_one_reader_of_configuration_files() -> None:
    assert uses("read_config") == {
        "tcg_core/nightly/settings.py",
        "tcg_core/ops/maintenance.py",
        "tcg_core/ops/retention.py",
        "tcg_assets/cli/curriculum.py",
        "tcg_assets/cli/training.py",
    }
    assert not uses("read_config") & uses("loads"), "a file is read beside the reader"
    # The header of a tensor file is JSON too.
    assert texts("is not JSON") == {"tcg_core/base/settings.py", "tcg_core/model/tensors.py"}


def test_one_time_of_day() -> None:
    assert uses("ZoneInfo") | uses("available_timezones") == {"tcg_core/base/clock.py"}
    assert texts(" * * *") | texts("[0-5]\\d") == {"tcg_core/base/clock.py"}, "a cron line or a time of day is spelled elsewhere"
    assert len(uses("TimeOfDay")) >= 3


def test_one_back_off() -> None:
    """A pause that grows is a power of the failures; nobody else asks Dagster how often something failed."""
    growing = {
        file
        for file, tree in files("tcg_assets", "tcg_core/alerts", "tcg_core/fetch", "tcg_core/nightly", "tcg_core/ops")
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    }
    assert growing == {"tcg_assets/automation/attempts.py"}
    assert uses("Backoff") == {"tcg_assets/automation/attempts.py", "tcg_assets/automation/kaggle.py"}
    assert uses("next_attempt") == {"tcg_assets/automation/arrivals.py", "tcg_assets/automation/kaggle.py"}


def test_one_table_of_text() -> None:
    """Columns are made by padding: by a method of strings, by a width in a format, or by a library."""
    width = re.compile(r"[<>^]\d|'[1-9]\d*'")
    widths = {
        file
        for file, tree in files()
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue) and node.format_spec and width.search(ast.unparse(node.format_spec))
    }
    assert widths == {"tcg_assets/cli/explain.py"}, "the numbers of options in a list"
    assert uses("ljust") | uses("rjust") == {"tcg_core/base/table.py"}
    assert not [file for file in uses("rich") if "rich.table" in (PROJECT / file).read_text()]
    assert uses("text_table") == {"tcg_assets/cli/show.py", "tcg_core/train/board.py"}


def test_one_forest_plot() -> None:
    """Whoever draws an interval with its dot draws a circle, or asks the plotting library for error bars."""
    assert texts("<circle") == {"tcg_core/arena/forest.py"}
    assert not uses("errorbar") | uses("hlines")
    assert uses("Forest") == {"tcg_core/arena/report.py", "tcg_core/arena/tournament.py"}
