from __future__ import annotations

import pytest

from tests.topi.numerics import close, evaluate, floats

pytestmark = pytest.mark.pure


def test_known_and_symbolic_shapes_agree() -> None:
    x = floats(3, 4)
    for symbolic in (False, True):
        close(evaluate(lambda a: a + 1.0, x, symbolic=symbolic), x + 1)
    with pytest.raises(AssertionError):
        close(evaluate(lambda a: a + 1.0, x), x)
