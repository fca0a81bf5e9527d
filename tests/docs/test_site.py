"""The site has every page, and a wheel every file that the package reads."""

from __future__ import annotations

import fnmatch
import importlib
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.docs.pages import ROOT, blocks, loaded, pages

pytestmark = pytest.mark.pure


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- ([\w/-]+\.md)$", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    docs = ROOT / "docs"
    assert set(listed) == {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}


@pytest.fixture(scope="module")
def site() -> SimpleNamespace:
    folder = ROOT / "docs" / "site"
    return SimpleNamespace(
        api=loaded(folder / "api.py"), notebooks=loaded(folder / "notebooks.py")
    )


def test_the_reference_has_every_public_name_once_with_its_description(site: Any) -> None:
    for name in site.api.listed():
        module = importlib.import_module(name)
        names = site.api.public(module)
        assert names, name
        text = site.api.page(name)
        anchors = re.findall(r"\{#(\w+)\}", text)
        links = re.findall(r"\[`(\w+)`\]\(", text)
        assert sorted(anchors + links) == sorted(names), name
        bare = [key for key, value in names.items() if callable(value) and not value.__doc__]
        assert not bare, f"{name}: without docstring: {bare}"


def test_links_within_the_reference_lead_to_names(site: Any) -> None:
    texts = {f"{name}.md": site.api.page(name) for name in site.api.listed()}
    for page, text in texts.items():
        for target, anchor in re.findall(r"\]\((tvm[\w.]*\.md)#(\w+)\)", text):
            assert f"{{#{anchor}}}" in texts[target], f"{page} -> {target}#{anchor}"


def test_signatures_are_as_a_user_writes_them(site: Any) -> None:
    def scaled(x: Tensor, by: float = 2.0, *, name: str | None = None) -> Tensor:
        return x

    assert site.api.signature("scaled", scaled) == (
        "scaled(x: Tensor, by: float = 2.0, *, name: str | None = None) -> Tensor"
    )
    long = site.api.signature("reverse_compute_at_the_innermost_loop_of_the_whole_function", scaled)
    assert long.splitlines()[1:] == [
        "    x: Tensor,", "    by: float = 2.0,", "    *,", "    name: str | None = None,",
        ") -> Tensor",
    ]  # fmt: skip


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_notebook_has_the_examples_of_its_page(page: Path, site: Any) -> None:
    text = page.read_text(encoding="utf-8")
    examples = blocks(text)
    assert site.notebooks.has_examples(text) == bool(examples)
    cells = json.loads(site.notebooks.notebook(text))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert ["".join(cell["source"]) + "\n" for cell in code] == [block.code for block in examples]
    shown = ["".join(out["text"]) for cell in code for out in cell["outputs"]]
    assert shown == [block.output for block in examples if block.output is not None]
    prose = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert "```python" not in prose


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
