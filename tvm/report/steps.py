"""The steps of a schedule with the reasons that stand in the rule's own text.

A step's reason is the comment beside or above the line of the rule that asked for it, behind what
the docstring of the function says that this line is in.
"""

from __future__ import annotations

import ast
import functools
import linecache
from pathlib import Path
from typing import Final

from tvm.tir.schedule import Trace

from . import words as w
from .recorder import CallSite, Recorder

_PACKAGE: Final = Path(__file__).parent.parent


def steps_of(trace: Trace, recorder: Recorder) -> list[w.Step]:
    """The steps of a trace, without questions whose answers nobody used."""
    shown = trace.simplified(False)
    found: list[w.Step] = []
    for inst, text in zip(shown.insts, shown.as_python()):
        site = recorder.sites.get(inst)
        where, why = ("", "") if site is None else (_where(site), _reason(site))
        found.append(w.Step(text, inst.kind.name, where, why))
    return found


def _where(site: CallSite) -> str:
    path = Path(site.file)
    inside = path.is_relative_to(_PACKAGE.parent)
    shown = path.relative_to(_PACKAGE.parent).as_posix() if inside else path.name
    return f"{shown}:{site.line}"


def _reason(site: CallSite) -> str:
    says = _first_sentences(site.file).get(site.function, "")
    comment = _comment(site.file, site.line)
    return f"{says} {comment}".strip() if says else comment


def _comment(file: str, line: int) -> str:
    """The comment behind a line, else the one above it."""
    behind = linecache.getline(file, line).partition("  # ")[2].strip()
    if behind:
        return f"({behind})"
    above: list[str] = []
    while (text := linecache.getline(file, line - 1).strip()).startswith("# "):
        above.insert(0, text[2:])
        line -= 1
    return f"({' '.join(above)})" if above else ""


@functools.lru_cache(maxsize=256)
def _first_sentences(file: str) -> dict[str, str]:
    """What the functions of a file do, by name."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {}
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            doc = ast.get_docstring(node)
            if doc:
                found[node.name] = " ".join(doc.split("\n\n")[0].split())
    return found
