"""Whether a terminal is dark: by what it says of itself in the environment, else when it is asked.

    COLORFGBG=15;0             white on black, as rxvt, Konsole and others say
    ESC ] 11 ; ? BEL           xterm's question for the background (Xterm Control Sequences)
    ESC [ c                    all terminals answer it: none to the first will come then
"""

from __future__ import annotations

import functools
import os
import re
import select
import sys
import time
from typing import Final

_ASK: Final = b"\x1b]11;?\x07\x1b[c"
_BACKGROUND: Final = re.compile(rb"\]11;rgba?:([0-9a-f]+)/([0-9a-f]+)/([0-9a-f]+)", re.IGNORECASE)
_END: Final = re.compile(rb"\x1b\[\?[0-9;]*c")
_PATIENCE_S: Final = 0.2
_DARK: Final = frozenset((0, 1, 2, 3, 4, 5, 6, 8))  # of the sixteen colours


@functools.lru_cache(maxsize=1)
def is_dark() -> bool | None:
    """True for light text on a dark ground, None where the terminal does not say."""
    told = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    if told.isdecimal():
        return int(told) in _DARK
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") in (None, "dumb"):
        return None
    try:
        return background_is_dark(_answer(sys.stdin.fileno(), sys.stdout.fileno()))
    except (ImportError, OSError, ValueError):  # a system without termios, a terminal that is gone
        return None


def background_is_dark(answer: bytes) -> bool | None:
    """What the answer of a terminal says; None where it says nothing of its background."""
    found = _BACKGROUND.search(answer)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / ((1 << 4 * len(part)) - 1) for part in found.groups())
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5


def _answer(source: int, target: int) -> bytes:
    """What the terminal answers; nothing is echoed meanwhile."""
    import termios
    import tty

    before = termios.tcgetattr(source)
    answer = b""
    try:
        tty.setcbreak(source, termios.TCSADRAIN)
        os.write(target, _ASK)
        end = time.monotonic() + _PATIENCE_S
        while _END.search(answer) is None and (left := end - time.monotonic()) > 0:
            if select.select([source], [], [], left)[0]:
                answer += os.read(source, 256)
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, before)
    return answer
