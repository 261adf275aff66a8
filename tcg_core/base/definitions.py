"""A module as definitions: each function, class or constant with what of its syntax counts, and which names it uses.

What counts is the syntax tree without docstrings, comments, formatting and annotations of functions; without calls of the
module's logger; and without the text of a refusal (an error that is derived from ``TcgError``), which no artifact stores.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tcg_core.base.source import PACKAGES

#: A module that assigns this name at its top level takes no part in any identity; the value says why.
OUTSIDE = "OUTSIDE_IDENTITY"
#: The name under which a module's statements that are no definition stand.
BODY = "<module>"


@dataclass(frozen=True)
class Imported:
    """What an import binds: a module, or a name of one."""

    module: str
    name: str = ""


@dataclass
class Definition:
    """One definition. ``text``: its syntax, as ``ast.dump`` writes it; ``uses``: (name, attributes read from it) of each use of
    a global name; ``imports``: what its own imports bind."""

    name: str
    text: str = ""
    uses: set[tuple[str, ...]] = field(default_factory=set)
    imports: dict[str, Imported] = field(default_factory=dict)


@dataclass
class SourceModule:
    """A module: its definitions and what its imports bind. ``outside``: it takes no part in an identity."""

    name: str
    definitions: dict[str, Definition] = field(default_factory=dict)
    imports: dict[str, Imported] = field(default_factory=dict)
    outside: bool = False
    #: Definitions under a decorator of the project: it may enter them in a table that others read.
    registered: set[str] = field(default_factory=set)


#: Whether a dotted name, under these bindings, is the class of an error whose text no artifact stores.
IsRefusal = Callable[[tuple[str, ...], dict[str, Imported]], bool]


def read_module(name: str, tree: ast.Module, is_refusal: IsRefusal) -> SourceModule:
    """The module ``name`` from its syntax tree, which is used up."""
    module = SourceModule(name)
    for statement in _statements(tree.body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            module.imports |= bindings(statement)
    loggers = {target for statement in tree.body for target in _targets(statement) if _makes_logger(statement)}
    body: list[Definition] = []
    for statement in _statements(tree.body):
        if isinstance(statement, ast.Import | ast.ImportFrom) or _is_text(statement):
            continue
        targets = _targets(statement)
        if OUTSIDE in targets:
            module.outside = True
        names = [statement.name] if isinstance(statement, _Defined) else targets
        found = _Reader(loggers, is_refusal).read(names[0] if names else BODY, statement)
        if not names:
            body.append(found)
        if isinstance(statement, _Defined) and any(_of_project(module, each) for each in statement.decorator_list):
            module.registered.add(statement.name)
        for each in names:
            earlier = module.definitions.get(each)
            module.definitions[each] = found if earlier is None else _joined(each, [earlier, found])
    if body:
        module.definitions[BODY] = _joined(BODY, body)
    return module


def bindings(statement: ast.Import | ast.ImportFrom) -> dict[str, Imported]:
    """What an import statement binds, by local name. ``import a.b`` binds ``a``."""
    if isinstance(statement, ast.Import):
        return {
            alias.asname or alias.name.split(".")[0]: Imported(alias.name if alias.asname else alias.name.split(".")[0])
            for alias in statement.names
        }
    return {alias.asname or alias.name: Imported(statement.module or "", alias.name) for alias in statement.names}


_Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, ``if TYPE_CHECKING`` blocks left out: they bind names that only annotations use."""
    for statement in body:
        if isinstance(statement, ast.If) and isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING":
            yield from (each for each in statement.body if isinstance(each, ast.Import | ast.ImportFrom))
        else:
            yield statement


def _targets(statement: ast.stmt) -> list[str]:
    """Names that an assignment at the top level binds; empty for anything else."""
    if isinstance(statement, ast.Assign):
        nodes = [node for target in statement.targets for node in ast.walk(target)]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        nodes = list(ast.walk(statement.target))
    else:
        return []
    return [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _makes_logger(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "getLogger"


def _of_project(module: SourceModule, decorator: ast.expr) -> bool:
    head = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)[:1]
    imported = module.imports.get(head[0]) if head else None
    return bool(head) and (head[0] in module.definitions or (imported is not None and imported.module.split(".")[0] in PACKAGES))


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _joined(name: str, parts: list[Definition]) -> Definition:
    joined = Definition(name)
    for part in parts:
        joined.text += part.text + "\n"
        joined.uses |= part.uses
        joined.imports |= part.imports
    return joined


def dotted(node: ast.expr) -> tuple[str, ...]:
    """``a.b.c`` as its parts; empty for anything but names and attributes of them."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return (*head, node.attr) if head else ()
    return ()


class _Reader(ast.NodeTransformer):
    """Reduces one top-level statement to what counts, and notes the global names it uses on the way."""

    def __init__(self, loggers: set[str], is_refusal: IsRefusal) -> None:
        self.loggers, self.is_refusal = loggers, is_refusal
        self.scopes: list[set[str]] = []
        self.found = Definition("")

    def read(self, name: str, statement: ast.stmt) -> Definition:
        self.found.name = name
        kept = self.visit(statement)
        self.found.text = ast.dump(kept) if kept is not None else ""
        return self.found

    def visit_Name(self, node: ast.Name) -> ast.Name:
        self._use((node.id,))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        parts = dotted(node)
        if parts:
            self._use(parts)
            return node
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.found.imports |= bindings(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.found.imports |= bindings(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._inside(_local_names(node), lambda: self.generic_visit(node))

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = _without_docstring(node.body)
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """In a class the annotation is a field's type, which decoders read; in a function it changes nothing."""
        if not self.scopes:
            return self.generic_visit(node)
        self._annotation(node.annotation)
        if node.value is None:
            return None
        return ast.Assign([self.visit(node.target)], self.visit(node.value))

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Call) and dotted(node.value.func)[:1] and dotted(node.value.func)[0] in self.loggers:
            return None
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call) and self.is_refusal(dotted(node.exc.func), self.found.imports):
            node.exc = ast.Call(node.exc.func, [], [])
        return self.generic_visit(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.body = _without_docstring(node.body)
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg) and argument.annotation is not None:
                self._annotation(argument.annotation)
                argument.annotation = None
        if node.returns is not None:
            self._annotation(node.returns)
            node.returns = None
        node.type_comment = None
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        decorators, node.decorator_list = node.decorator_list, []
        node.args.defaults = [self.visit(default) for default in node.args.defaults]
        node.args.kw_defaults = [default and self.visit(default) for default in node.args.kw_defaults]

        def inside() -> ast.AST:
            node.body = [kept for statement in node.body if (kept := self.visit(statement)) is not None] or [ast.Pass()]
            return node

        self._inside(_local_names(node), inside)
        node.decorator_list = decorators
        return node

    def _comprehension(self, node: _Comprehension) -> ast.AST:
        stored = {each.id for generator in node.generators for each in ast.walk(generator.target) if isinstance(each, ast.Name)}
        return self._inside(stored, lambda: self.generic_visit(node))

    def _inside(self, names: set[str], visit: Callable[[], ast.AST]) -> ast.AST:
        self.scopes.append(names)
        try:
            return visit()
        finally:
            self.scopes.pop()

    def _annotation(self, node: ast.expr) -> None:
        """The types an annotation names are used: their methods may run. Its own text does not count."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        self.visit(node)

    def _use(self, parts: tuple[str, ...]) -> None:
        if not any(parts[0] in scope for scope in self.scopes):
            self.found.uses.add(parts)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    rest = body[1:] if body and _is_text(body[0]) else body
    return rest or [ast.Pass()]


def _local_names(node: _Scope) -> set[str]:
    """Names that are local to a function: arguments, and what it binds outside nested functions, classes and comprehensions."""
    arguments = node.args
    names = {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names |= {argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument is not None}
    waiting: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    declared: set[str] = set()
    while waiting:
        here = waiting.pop()
        if isinstance(here, _Defined):
            names.add(here.name)
            continue
        if isinstance(here, ast.Lambda | _Comprehension):
            waiting += [each for each in ast.walk(here) if isinstance(each, ast.NamedExpr)]
            continue
        if isinstance(here, ast.Global):
            declared |= set(here.names)
        elif isinstance(here, ast.Name) and isinstance(here.ctx, ast.Store):
            names.add(here.id)
        elif (isinstance(here, ast.ExceptHandler) and here.name) or (isinstance(here, ast.MatchAs | ast.MatchStar) and here.name):
            names.add(here.name)
        waiting += ast.iter_child_nodes(here)
    return names - declared
