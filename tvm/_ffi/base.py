"""Errors and texts of the FFI."""

from tvm.base import TVMError, __version__, py_str

string_types = (str,)
integer_types = (int,)
numeric_types = (int, float)

__all__ = [
    "TVMError", "__version__", "integer_types", "numeric_types", "py_str", "string_types",
]  # fmt: skip
