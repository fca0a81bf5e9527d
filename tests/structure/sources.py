"""The package as files: module names, and what each file imports. Nothing here imports `tvm`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tvm"


class Import(NamedTuple):
    """An import of our own modules: who, on which line, of what."""

    path: Path
    line: int
    importer: str
    target: str


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def show(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> frozenset[str]:
    return frozenset(map(module_name, sources()))


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def statements(*within: ast.AST) -> Iterator[ast.stmt]:
    """All statements within, those of functions and branches too; far fewer than all nodes."""
    left = list(within)
    while left:
        node = left.pop()
        if isinstance(node, ast.stmt):
            yield node
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            inside = getattr(node, part, None)
            if isinstance(inside, list):
                left += inside


@cache
def own_imports() -> tuple[Import, ...]:
    """Each import of a module below `tvm` in its files, within functions too."""
    return tuple(found for path in sources() for found in _imports_of(path))


def _imports_of(path: Path) -> Iterator[Import]:
    importer = module_name(path)
    package = importer if path.name == "__init__.py" else importer.rpartition(".")[0]
    for node in _import_nodes(path):
        for target in _targets(node, package):
            if target == "tvm" or target.startswith("tvm."):
                yield Import(path, node.lineno, importer, target)


def _import_nodes(path: Path) -> Iterator[ast.Import | ast.ImportFrom]:
    """All imports but those by which a package shows names of other floors that load lazily."""
    tree = parse(path)
    hidden: set[ast.stmt] = set()
    if path.name == "__init__.py":
        for node in statements(tree):
            if isinstance(node, ast.If) and _is_type_checking(node.test):
                hidden.update(statements(*node.body))
            elif isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
                hidden.update(statements(node))
    for node in statements(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and node not in hidden:
            yield node


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _targets(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        above = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:                    # `from tvm.tir import expr` imports tvm.tir.expr
        inner = f"{base}.{alias.name}"
        yield inner if inner in modules() else base
