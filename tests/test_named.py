"""Nothing public is there for tests alone: each function, class and constant is named by the code that ships."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
CODE = sorted([*PROJECT.glob("tcg_core/**/*.py"), *PROJECT.glob("tcg_assets/**/*.py")])
ALSO = [*PROJECT.glob("bench/**/*.py"), *PROJECT.glob("docs/*.py")]
#: What only tests name, and why it is there.
REASONS = {
    "ARCHIVE_CHECKS": "the names of an archive's checks, which its test compares with those made",
    "STEP_TAGS": "the names of the board's curves, which the page of metrics is compared with",
    "closure_of": "the files behind an identity: the table of edits is checked by it",
    "encode_decision": "one decision encoded by itself: live and replayed encoding are compared by it",
    "reference_episode": "Kaggle's own lane, which recorded replays are compared with",
    "write_deck": "the other half of load_deck: a deck registry is made with it",
}
Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


def named(tree: ast.AST) -> Counter[str]:
    """How often each name stands in a tree: as a name, an attribute, an import or a text that is nothing but it."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            found.subtract(ast.literal_eval(node.value))  # what a module exports is not yet used
        elif isinstance(node, ast.Name):
            found[node.id] += isinstance(node.ctx, ast.Load)
        elif isinstance(node, ast.Attribute):
            found[node.attr] += 1
        elif isinstance(node, ast.alias):
            found[node.name.rpartition(".")[2]] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found[node.value.rpartition(":")[2]] += 1
    return found


def public(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    """Public definitions of a module; commands of the terminal are entered by their decorator."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            calls = [d.func for d in node.decorator_list if isinstance(d, ast.Call)]
            if not any(isinstance(call, ast.Attribute) and call.attr in ("command", "callback") for call in calls):
                yield node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, node) for target in targets if isinstance(target, ast.Name))


def unnamed(modules: dict[str, ast.Module], others: list[ast.Module]) -> dict[str, str]:
    """Public names that nothing outside their own definition names, with the file of each."""
    total: Counter[str] = Counter()
    for tree in (*modules.values(), *others):
        total.update(named(tree))
    return {
        name: file
        for file, tree in modules.items()
        for name, node in public(tree)
        if not name.startswith("_") and total[name] <= named(node)[name]
    }


def test_what_is_public_is_named_by_code_that_ships() -> None:
    modules = {path.relative_to(PROJECT).as_posix(): ast.parse(path.read_text()) for path in CODE}
    found = unnamed(modules, [ast.parse(path.read_text()) for path in ALSO])
    assert found.keys() - REASONS.keys() == set(), found
    assert REASONS.keys() - found.keys() == set(), "a reason for what is gone or named by now"


def test_a_definition_for_tests_alone_is_found() -> None:
    text = "LIMIT = 3\ndef used(): return used\ndef other(): return used()\n@app.command()\ndef entry(): pass\nclass Lone: pass\n"
    assert unnamed({"x": ast.parse(text)}, [ast.parse("from x import LIMIT")]) == {"other": "x", "Lone": "x"}
