"""What notebooks show of objects: programs in colours, folded parts, tables; light and dark.

An object's `_repr_html_` gives `document(part, ...)`. Nothing in it runs, and it needs no network.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Final

_MANY: Final = 40_000  # characters of a program that are coloured; beyond, colours cost too much

# Jupyter says which theme it has; elsewhere the system does.
_LIGHT: Final = (
    "--q:#59626f;--l:#d5dae1;--k:#8a2aa5;--s:#1d6f42;--m:#a04708;--f:#1d5fd0;--b:#f4f6f8"
)
_DARK: Final = (
    "--q:#a2abb8;--l:#3a424e;--k:#d6a2f0;--s:#8fd6a6;--m:#f3b27a;--f:#8fbcff;--b:#20252d"
)
_STYLE: Final = (
    f"<style>.tvm{{{_LIGHT};font-size:13px}}"
    f"@media (prefers-color-scheme:dark){{.tvm{{{_DARK}}}}}"
    f"[data-jp-theme-light=true] .tvm{{{_LIGHT}}}[data-jp-theme-light=false] .tvm{{{_DARK}}}"
    ".tvm pre{overflow:auto;max-height:32em;margin:2px 0 6px;padding:6px 10px;"
    "background:var(--b);line-height:1.4}"
    ".tvm summary{cursor:pointer}.tvm .q{color:var(--q)}"
    ".tvm .k,.tvm .kc,.tvm .kn,.tvm .ow{color:var(--k)}"
    ".tvm .s,.tvm .s1,.tvm .s2{color:var(--s)}.tvm .mi,.tvm .mf{color:var(--m)}"
    ".tvm .nf,.tvm .nd,.tvm .nc{color:var(--f)}.tvm .c1{color:var(--q);font-style:italic}"
    ".tvm table{border-collapse:collapse}"
    ".tvm td,.tvm th{text-align:left;padding:2px 10px 2px 0;border-bottom:1px solid var(--l)}"
    ".tvm .r{text-align:right;font-variant-numeric:tabular-nums}</style>"
)


def document(*parts: str) -> str:
    """The parts, with the style that they need."""
    return f'{_STYLE}<div class="tvm">{"".join(parts)}</div>'


def code(text: str) -> str:
    """A program of Python's syntax in colours."""
    return f"<pre><code>{_coloured(text)}</code></pre>"


def folded(title: str, body: str, *, unfolded: bool = False) -> str:
    """A part that opens by a click on its title; `body` is HTML."""
    state = " open" if unfolded else ""
    return f"<details{state}><summary>{html.escape(title)}</summary>{body}</details>"


def line(text: str) -> str:
    """A line of plain text."""
    return f'<div class="q">{html.escape(text)}</div>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows of plain texts under a header; columns whose numbers are in `right`, to the right."""

    def cells(row: Sequence[str], tag: str) -> str:
        made = [
            f"<{tag}{' class=r' if n in right else ''}>{html.escape(cell)}</{tag}>"
            for n, cell in enumerate(row)
        ]
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(cells(row, "td") for row in rows)
    return f"<table><thead>{cells(header, 'th')}</thead><tbody>{body}</tbody></table>"


def _coloured(text: str) -> str:
    if len(text) > _MANY:
        return html.escape(text)
    try:
        from pygments import highlight  # comes with rich; loads where something is shown
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import PythonLexer
    except ImportError:
        return html.escape(text)
    return str(highlight(text, PythonLexer(), HtmlFormatter(nowrap=True))).rstrip("\n")
