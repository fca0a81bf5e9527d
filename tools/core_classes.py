"""Classes that mypyc would compile, and that would then not work; found in the sources by name.

Three kinds: with a base and `__call__`; with a base that is not compiled but derived from one that
is; and with a subclass that is not compiled, without a mark that allows it. mypyc itself finds none
of them: the first two end in wild memory, the third where the subclass is imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

_ALLOWED: Final = "allow_interpreted_subclasses=True"
_PLAIN: Final = "native_class=False"


def unfit_classes(paths: Sequence[str], home: Path, package: str = "tvm") -> list[str]:
    """What is wrong with the classes of the files to be compiled, as `file:line: class C, ...`."""
    trees = {
        str(path.relative_to(home)): ast.parse(path.read_text("utf-8"))
        for path in sorted((home / package).rglob("*.py"))
    }
    compiled = {*paths}
    exceptions = _exceptions(trees)
    marked = {
        (path, cls.name): any(_ALLOWED in ast.unparse(one) for one in cls.decorator_list)
        for path in paths
        for cls in _native(trees[path])
    }
    found = [one for path in paths for one in called_objects(path, trees[path])]
    for path, tree in trees.items():
        names = _imported(path, tree)
        for cls in (_native(tree) if path in compiled else _classes(tree)):
            for base in cls.bases:
                at = _home(base, path, names, trees)
                if at is None or at in exceptions:
                    continue
                named_at = f"{path}:{cls.lineno}: class {cls.name}"
                if path in compiled and at[0] not in compiled and _is_mixed(at, compiled, trees):
                    found.append(f"{named_at}, whose base {at[1]} is not")
                elif path not in compiled and marked.get(at) is False:
                    found.append(f"{named_at}, derived from {at[1]}")
    return found


def called_objects(path: str, tree: ast.Module) -> Iterator[str]:
    """Classes with bases whose objects are called.

    In such an object mypyc puts a pointer before the fields of the base, where code of the base
    and of interpreted subclasses then looks for these: whoever reads one reads wild memory.
    """
    for cls in _native(tree):
        defined = {one.name for one in cls.body if isinstance(one, ast.FunctionDef)}
        if cls.bases and "__call__" in defined:
            yield f"{path}:{cls.lineno}: class {cls.name}, whose objects are called"


def _is_mixed(
    at: tuple[str, str], compiled: set[str], trees: Mapping[str, ast.Module]
) -> bool:
    """Whether a class that is not compiled is derived from one that is."""
    path, name = at
    names = _imported(path, trees[path])
    bases = [base for cls in _classes(trees[path]) if cls.name == name for base in cls.bases]
    homes = [_home(base, path, names, trees) for base in bases]
    return any(h is not None and (h[0] in compiled or _is_mixed(h, compiled, trees)) for h in homes)


def _classes(tree: ast.Module) -> Iterable[ast.ClassDef]:
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]


def _native(tree: ast.Module) -> Iterable[ast.ClassDef]:
    return [
        cls for cls in _classes(tree)
        if not any(_PLAIN in ast.unparse(one) for one in cls.decorator_list)
    ]  # fmt: skip


def _exceptions(trees: Mapping[str, ast.Module]) -> set[tuple[str, str]]:
    """Classes of errors, which stay Python's own."""
    return {
        (path, cls.name)
        for path, tree in trees.items()
        for cls in _classes(tree)
        if cls.name.endswith(("Error", "Exception"))
    }


def _imported(path: str, tree: ast.Module) -> dict[str, str]:
    """What names of a module stand for, as dotted names."""
    package = path.rpartition("/")[0].split("/")
    named: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            home = [*package[: len(package) - node.level + 1], *filter(None, [node.module])]
            base = ".".join(home) if node.level else str(node.module)
            named.update({one.asname or one.name: f"{base}.{one.name}" for one in node.names})
    return named


def _home(
    base: ast.expr, path: str, named: Mapping[str, str], trees: Mapping[str, ast.Module]
) -> tuple[str, str] | None:
    """File and name of a class of ours that is named as a base; None for others."""
    if isinstance(base, ast.Subscript):
        return _home(base.value, path, named, trees)
    if not isinstance(base, (ast.Name, ast.Attribute)):
        return None
    first, *rest = ast.unparse(base).split(".")
    if first not in named:
        own = any(cls.name == first for cls in _classes(trees[path]))
        return (path, first) if own and not rest else None
    for _ in range(len(trees)):  # packages pass names on
        module, _, name = ".".join([named[first], *rest]).rpartition(".")
        stem = module.replace(".", "/")
        file = f"{stem}.py" if f"{stem}.py" in trees else f"{stem}/__init__.py"
        if file not in trees:
            return None
        if any(cls.name == name for cls in _classes(trees[file])):
            return file, name
        first, rest, named = name, [], _imported(file, trees[file])
        if first not in named:
            return None
    return None
