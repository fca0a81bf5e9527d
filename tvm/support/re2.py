"""Patterns in RE2's syntax as those of Python's `re`, for matches of a whole text.

What RE2 leaves out (look-around, references back to a group) is refused, as RE2 does. Both find the
same matches; RE2 takes time linear in the text, `re` may take longer for nested repetitions.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": r"!-/:-@\[-`{-~", "space": r"\t\n\v\f\r ", "upper": "A-Z", "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_TOKEN = re.compile(
    r"\\Q(?P<literal>.*?)(?:\\E|\Z)"
    r"|\\(?P<property>[pP])(?:\{(?P<long>\^?\w+)\}|(?P<short>\w))"
    r"|\\x\{(?P<code>[0-9A-Fa-f]+)\}"
    r"|\\(?P<escape>.)"
    r"|\[:(?P<not>\^?)(?P<posix>\w+):\]"
    r"|\(\?(?P<group>P?<[=!]|P=|P>|[=!>(]|P<\w+>|[a-zA-Z-]*[:)])"
    r"|(?P<other>.)",
    re.DOTALL,
)


class PatternError(ValueError):
    """A pattern that RE2's syntax has not, or that uses scripts of Unicode."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, to be used with `fullmatch`; raises PatternError."""
    try:
        return re.compile(_translated(pattern), re.ASCII)
    except re.error as err:
        raise PatternError(f"{pattern!r}: {err}") from None


class _Scope:
    """A group of the pattern: flags set within it, and whether it is of many lines."""

    def __init__(self, many_lines: bool) -> None:
        self.flags: list[str] = []
        self.many_lines = many_lines


def _translated(pattern: str) -> str:
    parts: list[str] = []
    scopes = [_Scope(False)]
    within = False  # a set of characters
    before = ""
    for found in _TOKEN.finditer(pattern):
        token, name = found[0], found.lastgroup
        if found["literal"] is not None:
            part = re.escape(found["literal"])
        elif found["property"]:
            part = _of_category(found, within)
        elif found["code"]:
            part = re.escape(chr(int(found["code"], 16)))
        elif found["escape"]:
            part = _escape(pattern, found["escape"], within)
        elif found["posix"] and within:
            part = _of_class(pattern, found)
        elif found["group"] and not within:
            part = _group(pattern, found["group"], scopes)
        elif name == "other" and not within:
            part = _outside(pattern, token, before, scopes)
        else:
            part = token
        if name == "other":
            opening = not within and token == "["
            closing = within and token == "]" and before not in ("[", "[^")
            before = before + token if before == "[" and token == "^" else token
            within = opening or (within and not closing)
        else:
            before = token
        parts.append(part)
    return "".join(parts) + ")" * sum(len(scope.flags) for scope in scopes)


def _outside(pattern: str, token: str, before: str, scopes: list[_Scope]) -> str:
    """A character that stands for itself or is an operator, outside of sets."""
    if token == "+" and before in ("*", "+", "?", "}"):
        raise PatternError(f"{pattern!r}: two repetitions in a row")
    if token == "$" and not scopes[-1].many_lines:
        return r"\Z"  # re's own also matches before a last line break
    if token == "(":
        scopes.append(_Scope(scopes[-1].many_lines))
    opened = scopes[-1].flags
    if token == "|":  # flags hold for what follows in the group, which re has of groups only
        return ")" * len(opened) + "|" + "".join(opened)
    if token == ")":
        if len(scopes) > 1:
            scopes.pop()
        return ")" * len(opened) + ")"
    return token


def _escape(pattern: str, letter: str, within: bool) -> str:
    if letter == "z":
        return r"\Z"
    if letter == "C":
        raise PatternError(f"{pattern!r}: \\C, a single byte; legal: characters")
    if letter in "123456789" and not within:
        raise PatternError(f"{pattern!r}: \\{letter}, a reference back; RE2 has none")
    return "\\" + letter


def _group(pattern: str, what: str, scopes: list[_Scope]) -> str:
    """The start of a group, or flags from here on to the end of the group around them."""
    if what[0] in "=!>(" or what in ("<=", "<!", "P=", "P>", "P<=", "P<!"):
        raise PatternError(f"{pattern!r}: (?{what}; RE2 has no look-around and no references back")
    if what.startswith("P<"):
        scopes.append(_Scope(scopes[-1].many_lines))
        return f"(?{what}"
    # which of several matches is taken (U) makes no difference
    on, _, off = what[:-1].replace("U", "").partition("-")
    start = f"(?{on}{'-' + off if off else ''}:"
    many_lines = "m" in on or (scopes[-1].many_lines and "m" not in off)
    if what.endswith(":"):
        scopes.append(_Scope(many_lines))
    else:
        scopes[-1].flags.append(start)
        scopes[-1].many_lines = many_lines
    return start


def _of_class(pattern: str, found: re.Match[str]) -> str:
    known = _POSIX.get(found["posix"])
    if known is None:
        raise PatternError(f"{pattern!r}: {found[0]}; legal: {', '.join(_POSIX)}")
    if found["not"]:
        return _ranges({chr(c) for c in range(128)} - set(re.findall(f"[{known}]", _ASCII)))
    return known


_ASCII = "".join(map(chr, range(128)))


def _of_category(found: re.Match[str], within: bool) -> str:
    """A general category of Unicode as a set of characters."""
    name = found["long"] or found["short"]
    negated = (found["property"] == "P") != name.startswith("^")
    members = _category(name.lstrip("^"), negated)
    return members if within else f"[{members}]"


@cache
def _category(name: str, negated: bool) -> str:
    every = range(sys.maxunicode + 1)
    chosen = {c for c in map(chr, every) if unicodedata.category(c).startswith(name)}
    if not chosen and name != "Any":
        raise PatternError(
            f"\\p{{{name}}}; legal: general categories of Unicode (L, Lu, Nd, ...), no scripts"
        )
    if (name == "Any") != negated or not chosen:
        chosen = set(map(chr, every)) - chosen
    return _ranges(chosen)


def _ranges(members: set[str]) -> str:
    """Characters as ranges of a set."""
    codes = sorted(map(ord, members))
    starts = [c for i, c in enumerate(codes) if i == 0 or codes[i - 1] != c - 1]
    ends = [c for i, c in enumerate(codes) if i + 1 == len(codes) or codes[i + 1] != c + 1]
    return "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in zip(starts, ends))
