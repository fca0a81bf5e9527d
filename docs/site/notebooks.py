"""Pages as notebooks: prose and examples in turn; what a page shows as printed is the output."""

from __future__ import annotations

import json
import re

_CODE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def has_examples(text: str) -> bool:
    return _CODE.search(text) is not None


def notebook(text: str) -> str:
    """The page in the format of notebooks, version 4.5 (nbformat's documentation)."""
    cells: list[dict[str, object]] = []
    end = 0
    for match in _CODE.finditer(text):
        _add_prose(cells, text[end : match.start()])
        outputs = [] if match[2] is None else [
            {"output_type": "stream", "name": "stdout", "text": _lines(match[2])}
        ]  # fmt: skip
        cells.append({
            "cell_type": "code", "id": f"cell{len(cells)}", "metadata": {}, "execution_count": None,
            "source": _lines(match[1].rstrip("\n")), "outputs": outputs,
        })  # fmt: skip
        end = match.end()
    _add_prose(cells, text[end:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, indent=1)


def _add_prose(cells: list[dict[str, object]], text: str) -> None:
    if text.strip():
        cells.append({
            "cell_type": "markdown", "id": f"cell{len(cells)}", "metadata": {},
            "source": _lines(text.strip("\n")),
        })  # fmt: skip


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
