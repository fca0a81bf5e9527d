from __future__ import annotations

import pytest

from tvm import te, topi

pytestmark = pytest.mark.pure


def test_operators_by_their_other_name() -> None:
    a = te.placeholder((3, 4), name="a")
    assert topi.cpp.add is topi.add
    assert topi.cpp.nn.relu(a).shape == topi.nn.relu(a).shape
    assert topi.cpp.reshape(a, (12,)).shape == topi.reshape(a, (12,)).shape
    with pytest.raises(AttributeError, match="no_such_operator"):
        _ = topi.cpp.no_such_operator
