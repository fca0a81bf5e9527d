"""Documents as programs: the ```python blocks of a page run one after the other in one namespace.

What a block prints must be what the ```text block right behind it shows, if there is one; `...`
there stands for anything. `python -m tests.docs.pages PAGE` writes the real output into a page
(a block that has `...` stays as it is).
"""

from __future__ import annotations

import contextlib
import doctest
import io
import linecache
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """One example: its first line in the page, its code, and the output that the page shows."""

    line: int
    code: str
    output: str | None


def loaded(path: Path) -> ModuleType:
    """A file of Python that is in no package, as a module."""
    spec = spec_from_file_location(f"alone_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> list[Block]:
    return [
        Block(text.count("\n", 0, m.start("code")) + 1, m["code"], m["output"])
        for m in FENCED.finditer(text)
    ]


class Session:
    """A fresh module in which the blocks of one page run."""

    def __init__(self, page: Path) -> None:
        self._page = page
        self._module = ModuleType(f"page_{page.stem.lower()}")
        sys.modules[self._module.__name__] = self._module      # TVMScript looks its module up

    def run(self, block: Block) -> str:
        """Execute the block; what it printed."""
        name = f"<{self._page.name}:{block.line}>"
        source = block.code
        # TVMScript reads its own source: inspect finds it here.
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        self._module.__file__ = name
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, name, "exec"), vars(self._module))
        return printed.getvalue()


def agrees(wanted: str, got: str) -> bool:
    return doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS)


def rewritten(page: Path) -> str:
    """The page with the output of today."""
    text = page.read_text(encoding="utf-8")
    session = Session(page)
    parts, end = [], 0
    for match, block in zip(FENCED.finditer(text), blocks(text), strict=True):
        printed = session.run(block)
        if block.output is not None and "..." not in block.output:
            parts += [text[end : match.start("output")], printed]
            end = match.end("output")
    return "".join([*parts, text[end:]])


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        path = Path(argument)
        path.write_text(rewritten(path), encoding="utf-8")
