"""IR in notebooks: a function in colours, a module as its functions, which can be folded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.scriptable import PRINTERS
from tvm.support.html import code, document, folded, line

_OPEN: Final = 3  # functions of a module that are shown at once


def notebook_html(node: object, options: Mapping[str, object]) -> str:
    """The HTML of a module or function; the options are those of `script`."""
    if not isinstance(node, IRModule):
        return document(code(_text(node, options)))
    if any(func.DIALECT == "relay" for func in node.functions.values()):
        return document(code(node.script(**options)))
    parts = [line(f"{len(node.functions)} function{'s' * (len(node.functions) != 1)}")]
    for number, (var, func) in enumerate(node.functions.items()):
        text = _text(func, {"name": var.name_hint, **options})
        title = f"{var.name_hint}: {_kind(func)}, {len(text.splitlines()):,} lines"
        parts.append(folded(title, code(text), unfolded=number < _OPEN))
    return document(*parts)


def _text(node: object, options: Mapping[str, object]) -> str:
    text: str = PRINTERS.get("script")(node, dict(options))
    return text


def _kind(func: BaseFunc) -> str:
    return func.TYPE_KEY.rpartition(".")[2]


PRINTERS.register("html", notebook_html)
