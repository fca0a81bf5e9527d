"""Names that C takes."""

from __future__ import annotations

from tvm.error import TVMError


def sanitize_name(original_name: str) -> str:
    """The name with an underscore for each character that C does not take."""
    if not original_name:
        raise TVMError("Name is empty")
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in original_name)
