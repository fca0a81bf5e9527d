"""Near names for messages: `did you mean 'llvm'?`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near_names(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The known names that look most like `name`, best first."""
    return difflib.get_close_matches(name, list(known), n=limit, cutoff=0.6)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or an empty string when nothing is near."""
    near = near_names(name, known)
    return f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
