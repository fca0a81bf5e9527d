"""Every example in the documents runs, and prints what the document says."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, Session, agrees, blocks, pages
from tvm.ir.op import OPS

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(page)
    text = page.read_text(encoding="utf-8")
    for extra in ("torch", "jax"):
        if f"import {extra}\n" in text:
            pytest.importorskip(extra)
    try:
        for block in blocks(text):
            got = session.run(block)
            if block.output is not None:
                where = f"{page.name}:{block.line}"
                assert agrees(block.output, got), _difference(where, block, got)
    finally:
        for name in [name for name in OPS if name.startswith("docs.")]:
            OPS.remove(name)


def _difference(where: str, block: Block, got: str) -> str:
    lines = difflib.unified_diff(
        (block.output or "").splitlines(), got.splitlines(), where, "printed now", lineterm=""
    )
    rewrite = "if it is right: python -m tests.docs.pages PAGE"
    return "\n".join(["", *lines, rewrite])


def test_links_between_pages_lead_somewhere() -> None:
    for page in pages():
        prose = re.sub(r"`[^`]*`", "", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_output_is_compared(tmp_path: Path) -> None:
    shown = "# x\n\n```python\nn = 2\nprint(n)\n```\n\n```text\n2\n```\n\n"
    text = shown + "```python\nprint(n + 1)\n```\n"
    first, second = blocks(text)
    assert first == Block(4, "n = 2\nprint(n)\n", "2\n")
    assert second.output is None
    session = Session(tmp_path / "x.md")
    assert agrees("2\n", session.run(first))
    assert not agrees("2\n", session.run(second))
    assert agrees("a ... c\n", "a b c\n")
