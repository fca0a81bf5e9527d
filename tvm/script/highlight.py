"""Programs in colours on terminals that have them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import warnings
from typing import Any, Final

# What TVM's users know as styles, by the names that the highlighting library has for them.
_STYLES: Final = {"light": "default", "dark": "monokai", "ansi": "ansi_dark"}


# How each formatter is called to read a program from the standard input.
_FORMATTERS: Final = {
    "black": ("black", "--quiet", "-"),
    "ruff": ("ruff", "format", "--isolated", "--stdin-filename=program.py", "-"),
}


def cprint(printable: Any, style: str | None = None, black_format: bool = False) -> None:
    """Print a program or a node with Python's syntax in colours.

    `style` is "light", "dark", "ansi" or a style of the pygments library; by default that of the
    terminal, light or dark, as far as it says which. `black_format` reformats
    the text with the formatter that is installed.
    """
    text = printable if isinstance(printable, str) else _script_of(printable)
    if black_format:
        text = _format(text)
    if not _has_colours():
        print(text)
        return
    from rich.console import Console  # loads only where there is a terminal to colour
    from rich.syntax import Syntax

    from .terminal_theme import is_dark

    if style is None:
        style = "dark" if is_dark() else "light"
    theme = _STYLES.get(style, style)
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


def _format(code: str, formatter: str | None = None) -> str:
    """A program as "black" or "ruff" writes it; by default as the first of them that is there.

    Without a formatter the text stays as it is.
    """
    for name in _FORMATTERS if formatter is None else (formatter,):
        if name not in _FORMATTERS:
            raise ValueError(f"formatter {name!r}; legal: {', '.join(_FORMATTERS)}")
        if importlib.util.find_spec(name) is not None:
            return _formatted(code, _FORMATTERS[name])
    warnings.warn(
        "the text is printed as it is: black_format=True needs the package 'black' or 'ruff' "
        "(pip install black)",
        stacklevel=3,
    )
    return code


def _formatted(code: str, arguments: tuple[str, ...]) -> str:
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, input=code, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else code
