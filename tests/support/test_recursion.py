import sys

import pytest

from tvm.support.recursion import NESTED_FRAMES, nested_programs

pytestmark = pytest.mark.pure


def depth_reached(wanted: int) -> int:
    return 0 if wanted == 0 else 1 + depth_reached(wanted - 1)


def test_limit_is_raised_and_put_back():
    before = sys.getrecursionlimit()
    with nested_programs():
        assert depth_reached(NESTED_FRAMES - 1000) == NESTED_FRAMES - 1000
    assert sys.getrecursionlimit() == before


def test_put_back_after_an_error():
    before = sys.getrecursionlimit()
    with pytest.raises(RuntimeError), nested_programs():
        raise RuntimeError
    assert sys.getrecursionlimit() == before
