"""The site has every page, and a wheel every file that the package reads."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

pytestmark = pytest.mark.pure


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- ([\w-]+\.md)$", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == {path.name for path in (ROOT / "docs").glob("*.md")}


def test_a_wheel_takes_every_file_that_is_no_program() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[tool.setuptools.package-data]")[2].partition("\n[")[0]
    anywhere = re.findall(r'"([^"]+)"', re.findall(r'^"\*" = (.*)$', section, re.MULTILINE)[0])
    own = {
        package: re.findall(r'"([^"]+)"', globs)
        for package, globs in re.findall(r'^"(tvm[\w.]*)" = (.*)$', section, re.MULTILINE)
    }

    def is_taken(path: Path) -> bool:
        if any(fnmatch.fnmatch(path.name, glob) for glob in anywhere):
            return True  # folders without an __init__ are packages too, to setuptools
        return any(
            path.match(f"{package.replace('.', '/')}/{glob}")
            for package, globs in own.items() for glob in globs
        )  # fmt: skip

    kinds = (".pyc", ".py", ".so")
    files = [p for p in (ROOT / "tvm").rglob("*") if p.is_file() and p.suffix not in kinds]
    left = [str(p.relative_to(ROOT)) for p in files if not is_taken(p)]
    assert not left
