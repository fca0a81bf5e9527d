"""Programs are found in documents of each form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents.__main__ import execute, main
from tests.documents.blocks import Block, read, unfolded

pytestmark = pytest.mark.pure
RST = """
.. code-block:: default

    x = 2
    print(x)

 .. code-block:: none

    2

.. code-block:: default

    print(x + 1)

.. code-block:: none

    4
"""


def test_fences(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text("a\n```python\nx = 1\nprint(x)  # 输出: 1\n```\n```cpp\nint x;\n```\n")
    assert read(page) == [Block(3, "x = 1\nprint(x)  # 输出: 1\n", None, ("1",))]


def test_directives_with_outputs(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(RST)
    first, second = read(page)
    assert first == Block(3, "x = 2\nprint(x)\n", "2\n")
    assert [r.state for r in execute(page)] == ["same", "differs"]
    assert second.output == "4\n"


def test_programs_folded_into_a_line() -> None:
    line = (
        "@tvm.x.p(opt_level=1) class A: def __init__(self, n): self.n = n def f(self, m): "
        "# my own # words return self.n"
    )
    assert unfolded(line) == (
        "@tvm.x.p(opt_level=1)\nclass A:\n    def __init__(self, n):\n        self.n = n\n"
        "    def f(self, m):\n        return self.n\n"
    )


def test_the_table_says_what_does_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.txt").write_text(RST)
    (tmp_path / "other.txt").write_text("```python\nmissing\n```\n")
    assert main(str(tmp_path)) == 2
    printed = capsys.readouterr().out
    assert "NameError: name 'missing' is not defined" in printed
    assert "| other | 1 | 0 | 0 | 1 |\n| page | 2 | 1 | 1 | 1 |" in printed
    assert main(str(tmp_path / "nowhere")) == 1
