"""One public class name, one meaning, over both packages."""

import ast
from collections import defaultdict
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
TWIN_NETS = {"tcg_core/model/mlx_net.py", "tcg_core/model/torch_net.py"}
OBSERVATIONS = {"tcg_core/encode/observation.py", "tcg_core/replay/structs.py"}
#: The same thing twice, for two frameworks and for two readers of JSON: their names are equal on purpose.
TWINS = (TWIN_NETS, OBSERVATIONS)


def meanings(sources: dict[str, str]) -> dict[str, set[str]]:
    """Public classes at the top of a file that are defined in several, with these files."""
    found = defaultdict(set)
    for path, text in sources.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].add(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1 and paths not in TWINS}


def test_a_public_class_name_has_one_meaning() -> None:
    paths = [*PROJECT.glob("tcg_core/**/*.py"), *PROJECT.glob("tcg_assets/**/*.py")]
    assert meanings({str(path.relative_to(PROJECT)): path.read_text() for path in paths}) == {}


def test_two_meanings_are_found_and_twins_are_none() -> None:
    twice = {"a.py": "class Plan: ...\nclass _Own: ...", "b.py": "class Plan: ...\nclass _Own: ..."}
    assert meanings(twice) == {"Plan": {"a.py", "b.py"}}
    twins = dict.fromkeys(TWIN_NETS, "class Layer: ...")
    assert meanings(twins) == {}
    assert set(meanings(twins | {"c.py": "class Layer: ..."})) == {"Layer"}
