"""How a name of TIR becomes an identifier."""

from __future__ import annotations


def c_name(name: str) -> str:
    """`name` with the letters that a C identifier may have."""
    clean = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return clean if clean and not clean[0].isdigit() else "v_" + clean
