"""Names of the base, and the warning of old ones."""

from __future__ import annotations

import pytest

from tvm.ir.base import Node, Span, deprecated, structural_equal

pytestmark = pytest.mark.pure


def test_deprecated_functions_warn_and_work() -> None:
    @deprecated("old", "new")
    def old(x: int) -> int:
        return x + 1

    with pytest.warns(DeprecationWarning, match="old is deprecated, use new instead"):
        assert old(1) == 2
    assert issubclass(Span, Node)
    assert structural_equal(1, 1)
