"""Programs in colours on terminals that have them."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any, Final

# What TVM's users know as styles, by the names that the highlighting library has for them.
_STYLES: Final = {None: "default", "light": "default", "dark": "monokai", "ansi": "ansi_dark"}


def cprint(printable: Any, style: str | None = None, black_format: bool = False) -> None:
    """Print a program or a node with Python's syntax in colours.

    `style` is "light", "dark", "ansi" or a style of the pygments library. `black_format` reformats
    the text with the `black` formatter.
    """
    text = printable if isinstance(printable, str) else _script_of(printable)
    if black_format:
        text = _formatted(text)
    if not _has_colours():
        print(text)
        return
    from rich.console import Console  # loads only where there is a terminal to colour
    from rich.syntax import Syntax

    theme = _STYLES.get(style, style or "default")
    Console().print(Syntax(text, "python", theme=theme, background_color="default"))


def _script_of(node: Any) -> str:
    script = getattr(node, "script", None)
    if script is None:
        raise TypeError(
            f"cprint: a {type(node).__name__} has no script; legal: str, or an IR node"
        )
    return str(script())


def _has_colours() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _formatted(text: str) -> str:
    try:
        black: Any = importlib.import_module("black")
    except ImportError:
        warnings.warn(
            "the text is printed as it is: black_format=True needs the package 'black' "
            "(pip install black)",
            stacklevel=3,
        )
        return text
    return str(black.format_str(text, mode=black.Mode()))
