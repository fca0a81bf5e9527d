"""What the command `tvmc` refuses with."""

from __future__ import annotations

from tvm.error import TVMError


class TVMCException(TVMError):
    """A request that cannot be carried out: told in one line, exit code 4."""


class TVMCImportError(TVMCException):
    """A package that reads the model is not installed: exit code 5."""
