"""Sizes of files and words that do not belong in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.structure.sources import ROOT, show, sources

pytestmark = pytest.mark.pure

MOST_LINES = 1000
FOLDERS = ("tvm", "tests", "examples", "benchmarks", "docs")

# A gap is closed or written in an error message, not left as a note to oneself.
NOTES = re.compile(r"\braise NotImplementedError\b|\b(?:TODO|FIXME|XXX)\b")
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
    long = {path: count for path, count in counts.items() if count >= MOST_LINES}
    assert not long, f"two ideas each, probably: {long}"


def test_no_notes_to_oneself() -> None:
    assert not _hits(NOTES, sources())


def test_files_speak_of_the_project_only() -> None:
    assert not _hits(ELSEWHERE, list(_files()))


def test_no_test_is_switched_off() -> None:
    assert not _hits(HIDDEN_GAPS, [p for p in _files() if p.parts[len(ROOT.parts)] == "tests"])
