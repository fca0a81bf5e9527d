"""Sizes of files and words that do not belong in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeGuard

import pytest

from tests.structure.sources import ROOT, parse, show, sources, statements

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
    found = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if path != Path(__file__) and pattern.search(text):
            found += [
                f"{show(path)}:{number}: {line.strip()}"
                for number, line in enumerate(text.splitlines(), 1)
                if pattern.search(line)
            ]
    return found


def test_files_are_short() -> None:
    counts = {show(p): len(p.read_text(encoding="utf-8").splitlines()) for p in _files()}
    long = {path: count for path, count in counts.items() if count >= MAX_LINES}
    assert not long, f"two ideas each, probably: {long}"


def test_no_notes_to_oneself() -> None:
    assert not _hits(NOTES, sources())


def test_only_abstract_methods_are_left_to_others() -> None:
    """A method that only raises NotImplementedError is fine if a subclass says what it does."""
    classes: list[_Class] = []
    raised: list[tuple[Path, int]] = []
    for path in sources():
        for node in statements(parse(path)):
            if isinstance(node, ast.ClassDef):
                classes.append(_class(path, node))
            elif isinstance(node, ast.Raise) and _names_the_gap(node):
                raised.append((path, node.lineno))
    defined = _heirs(classes)
    abstract = {
        (c.path, line) for c in classes for name, line in c.left.items() if name in defined(c.name)
    }
    assert abstract
    assert not [f"{show(path)}:{line}" for path, line in raised if (path, line) not in abstract]


class _Class(NamedTuple):
    """A class: its bases and methods by name, and the lines of those that only raise."""

    path: Path
    name: str
    bases: list[str]
    methods: list[str]
    left: dict[str, int]


def _class(path: Path, node: ast.ClassDef) -> _Class:
    bases = [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases]
    methods = [f.name for f in node.body if isinstance(f, ast.FunctionDef)]
    left = {f.name: f.body[-1].lineno for f in node.body if _only_raises(f)}
    return _Class(path, node.name, bases, methods, left)


def _heirs(classes: list[_Class]) -> Callable[[str], set[str]]:
    """From a class to the names that its subclasses define, by the names of the bases."""
    below: dict[str, list[_Class]] = {}
    for one in classes:
        for name in one.bases:
            below.setdefault(name, []).append(one)

    def defined(name: str) -> set[str]:
        found: set[str] = set()
        for heir in below.get(name, ()):
            found.update(heir.methods)
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
