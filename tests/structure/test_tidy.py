"""Sizes of files and words that do not belong in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

from tests.structure.sources import ROOT, show, sources

pytestmark = pytest.mark.pure

MAX_LINES = 1000
FOLDERS = ("tvm", "tests", "examples", "benchmarks", "docs")

# A gap is closed or written in an error message, not left as a note to oneself.
NOTES = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
ELSEWHERE = re.compile(r"(?<![\w.])/(?:work|tmp)/|\bissue #?\d")
HIDDEN_GAPS = re.compile(r"pytest\.skip\(|mark\.skip\b|\bxfail\(|mark\.xfail\b")


def _files() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".md", ".toml"} and "data" not in path.parts:
                yield path


def _hits(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{show(path)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if path != Path(__file__) and pattern.search(line)
    ]


def test_files_are_short() -> None:
    counts = {show(p): len(p.read_text(encoding="utf-8").splitlines()) for p in _files()}
    long = {path: count for path, count in counts.items() if count >= MAX_LINES}
    assert not long, f"two ideas each, probably: {long}"


def test_no_notes_to_oneself() -> None:
    assert not _hits(NOTES, sources())


def test_only_abstract_methods_are_left_to_others() -> None:
    """A method that only raises NotImplementedError is fine if a subclass says what it does."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sources()}
    classes = [
        (path, node) for path, t in trees.items() for node in ast.walk(t) if _is_class(node)
    ]
    heirs = _heirs([node for _, node in classes])
    abstract: set[ast.AST] = set()
    for _, owner in classes:
        for method in owner.body:
            if _only_raises(method) and method.name in heirs(owner.name):
                abstract.update(ast.walk(method))
    gaps = [
        f"{show(path)}:{node.lineno}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and _names_the_gap(node) and node not in abstract
    ]
    assert not gaps


def _is_class(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef)


def _heirs(classes: list[ast.ClassDef]) -> Callable[[str], set[str]]:
    """From a class to the names that its subclasses define, by the names of the bases."""
    below: dict[str, list[ast.ClassDef]] = {}
    for node in classes:
        for base in node.bases:
            name = ast.unparse(base).partition("[")[0].rpartition(".")[2]
            below.setdefault(name, []).append(node)

    def defined(name: str) -> set[str]:
        found: set[str] = set()
        for heir in below.get(name, ()):
            found.update(f.name for f in heir.body if isinstance(f, ast.FunctionDef))
            found |= defined(heir.name) if heir.name != name else set()
        return found

    return defined


def _only_raises(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    if not isinstance(node, ast.FunctionDef):
        return False
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return len(body) == 1 and isinstance(body[0], ast.Raise) and _names_the_gap(body[0])


def _names_the_gap(node: ast.Raise) -> bool:
    return node.exc is not None and "NotImplementedError" in ast.unparse(node.exc)


def test_files_speak_of_the_project_only() -> None:
    assert not _hits(ELSEWHERE, list(_files()))


def test_no_test_is_switched_off() -> None:
    assert not _hits(HIDDEN_GAPS, [p for p in _files() if p.parts[len(ROOT.parts)] == "tests"])
