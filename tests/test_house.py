"""The house of docs/architecture.md, true by its own import statements; and a broken copy for each rule."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import house as rules
from tests.house import CORE, MOST_LINES, MOST_ROOMS, ORDER, PRIVATE, PROJECT, RUNTIME, House, components, rooms_of_the_page

HOUSE = House.at(PROJECT)
PAGE = (PROJECT / "docs" / "architecture.md").read_text()
Rule = Callable[[House], list[str]]
RULES: tuple[Rule, ...] = (
    rules.unnamed_rooms,
    rules.arrows_up,
    rules.siblings_of_encode,
    rules.circles,
    rules.too_many_rooms,
    rules.long_files,
    rules.misplaced_libraries,
    rules.unpackable,
    rules.private_names,
    rules.bare_excepts,
)
HIDDEN = "def later():\n    from {} import {}\n"
TYPED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import {}\n"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(rule: Rule) -> None:
    assert rule(HOUSE) == []


@pytest.mark.parametrize(
    ("rule", "file", "text", "words"),
    [
        (rules.unnamed_rooms, "tcg_core/utils/x.py", "", "tcg_core/utils is a room that tests/house.py does not list"),
        (rules.unnamed_rooms, "tcg_assets/helpers.py", "", "tcg_assets/helpers.py is a room that"),
        (
            rules.arrows_up,
            "tcg_core/base/x.py",
            "import tcg_core.days.take\n",
            "x.py imports tcg_core/days/take.py, which comes later",
        ),
        (rules.arrows_up, "tcg_core/plan/x.py", HIDDEN.format("tcg_core.train", "run"), "imports tcg_core/train/run.py"),
        (rules.arrows_up, "tcg_core/plan/x.py", TYPED.format("tcg_core.train.run"), "imports tcg_core/train/run.py"),
        (rules.arrows_up, "tcg_core/base/x.py", "from ..days import take\n", "imports tcg_core/days/take.py"),
        (rules.arrows_up, "tcg_core/model/x.py", "from tcg_core.recipe import Recipe\n", "imports tcg_core/recipe.py"),
        (rules.arrows_up, "tcg_core/ops/x.py", "import tcg_assets.graph\n", "tcg_core imports nothing of tcg_assets"),
        (
            rules.arrows_up,
            "tcg_assets/assets/x.py",
            HIDDEN.format("tcg_assets.sync", "report"),
            "imports tcg_assets/sync/report.py",
        ),
        (
            rules.arrows_up,
            "tcg_assets/graph.py",
            "from tcg_assets.definitions import defs\n",
            "imports tcg_assets/definitions.py",
        ),
        (rules.arrows_up, "tcg_assets/pages/x.py", "from tcg_assets.assets import jobs\n", "imports tcg_assets/assets/jobs.py"),
        (
            rules.siblings_of_encode,
            "tcg_core/encode/x.py",
            "from tcg_core.base.home import Home\n",
            "encode imports no other room",
        ),
        (rules.circles, "tcg_core/base/atomic.py", HIDDEN.format("tcg_core.base", "home"), "tcg_core/base/home.py"),
        (rules.circles, "tcg_core/base/atomic.py", TYPED.format("tcg_core.base.home"), "tcg_core/base/home.py"),
        (rules.circles, "tcg_core/base/x.py", "import tcg_core.base.x\n", "tcg_core/base/x.py imports itself"),
        (rules.long_files, "tcg_core/base/x.py", "x = 1\n" * (MOST_LINES + 1), "x.py has 501 lines"),
        (
            rules.misplaced_libraries,
            "tcg_core/plan/x.py",
            "import mlx.core as mx\n",
            "x.py imports mlx, which only tcg_core/convert",
        ),
        (rules.misplaced_libraries, "tcg_assets/assets/x.py", HIDDEN.format("mlx", "core"), "x.py imports mlx"),
        (rules.misplaced_libraries, "tcg_core/ops/x.py", "def f():\n    import dagster as dg\n", "x.py imports dagster"),
        (
            rules.misplaced_libraries,
            "tcg_core/train/x.py",
            "from dagster_pipes import open_dagster_pipes\n",
            "imports dagster_pipes",
        ),
        (rules.misplaced_libraries, "tcg_core/model/x.py", "from transformers import AutoModel\n", "imports transformers"),
        (
            rules.unpackable,
            f"{RUNTIME}x.py",
            "from tcg_core.base.home import Home\n",
            "the packed runtime reaches tcg_core/base/home.py",
        ),
        (rules.unpackable, f"{RUNTIME}x.py", "from tcg_core.model import mlx_net\n", "mlx_net.py, which is packed, imports mlx"),
        (rules.unpackable, f"{RUNTIME}x.py", "import pyarrow\n", "runtime/x.py, which is packed, imports pyarrow"),
        (
            rules.private_names,
            "tcg_assets/sync/x.py",
            "from dagster._core.events import DagsterEvent\n",
            "x.py: dagster._core: a private",
        ),
        (rules.private_names, "tcg_assets/sync/x.py", "import dagster as dg\ndg._core\n", f"belongs into {PRIVATE}"),
        (rules.bare_excepts, "tcg_core/base/x.py", "try:\n    pass\nexcept:\n    pass\n", "x.py has an except without a class"),
    ],
)
def test_a_broken_copy_is_found(rule: Rule, file: str, text: str, words: str) -> None:
    faults = rule(HOUSE.but(file, text))
    assert any(words in fault for fault in faults), faults


def test_a_room_that_is_listed_and_gone_is_found() -> None:
    emptied = House({name: text for name, text in HOUSE.files.items() if not name.startswith("tcg_core/explain/")})
    assert rules.unnamed_rooms(emptied) == ["tcg_core/explain is listed in tests/house.py, and is not there"]


def test_too_many_rooms_and_loose_files_are_found() -> None:
    crowded = House({**HOUSE.files, **{f"tcg_assets/loose{number}.py": "" for number in range(9)}})
    assert any(f"rooms, at most {MOST_ROOMS}" in fault for fault in rules.too_many_rooms(crowded))
    assert any("tcg_assets has 13 files at its root, at most 8" in fault for fault in rules.too_many_rooms(crowded))
    core = House({**HOUSE.files, **{f"tcg_core/loose{number}.py": "" for number in range(5)}})
    assert any("tcg_core has 7 files at its root, at most 6" in fault for fault in rules.too_many_rooms(core))


def test_files_that_are_long_on_the_whole_are_found() -> None:
    [fault] = rules.long_files(House(dict.fromkeys(HOUSE.files, "x = 1\n" * 200)))
    assert fault.startswith("the median file has 200 lines")


def test_circles_are_found_in_any_graph() -> None:
    graph = {"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "e": [], "f": ["g"], "g": ["f"], "h": ["a"]}
    found = sorted(sorted(group) for group in components(graph))
    assert found == [["a", "b", "c"], ["d"], ["e"], ["f", "g"], ["h"]]
    chain = {str(number): [str(number + 1)] for number in range(5000)} | {"5000": []}
    assert len(components(chain)) == 5001, "deep ones too"


def test_the_files_on_disk_are_read(tmp_path: Path) -> None:
    (tmp_path / "tcg_core" / "base").mkdir(parents=True)
    (tmp_path / "tcg_core" / "base" / "x.py").write_text("import dagster\n")
    assert "imports dagster" in rules.misplaced_libraries(House.at(tmp_path))[0]


def test_the_architecture_page_names_every_room_in_the_order_of_the_arrows() -> None:
    assert rooms_of_the_page(PAGE) == [f"{package}/{room}" for package, rooms in ORDER.items() for room in rooms]


def test_a_page_that_names_a_room_too_many_or_too_few_is_found() -> None:
    lines = PAGE.splitlines(keepends=True)
    [at] = [number for number, line in enumerate(lines) if line.startswith("  base/ ")]
    fewer = "".join(lines[:at] + lines[at + 1 :])
    assert rooms_of_the_page(fewer) == rooms_of_the_page(PAGE)[1:]
    more = "".join([*lines[:at], "  attic/   what nobody needs\n", *lines[at:]])
    assert rooms_of_the_page(more)[0] == "tcg_core/attic"
    with pytest.raises(ValueError, match="'  base' is no room of the tree"):
        rooms_of_the_page("".join([*lines[:at], "  base\n", *lines[at + 1 :]]))
    with pytest.raises(ValueError, match="0 trees"):
        rooms_of_the_page("no tree")
    assert len(CORE) == len(set(CORE))
