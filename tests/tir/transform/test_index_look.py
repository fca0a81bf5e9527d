"""What a quick look consists of: numbers of 32 bits where indices lie together, else bits."""

import pytest

from tvm.script import tir as T
from tvm.tir import stmt as s
from tvm.tir.functor import walk
from tvm.tir.transform.index_look import look

pytestmark = pytest.mark.pure


def seen(func):
    """A look at all assertions of a function with one loop."""
    loop = next(node for node in walk(func.body) if isinstance(node, s.For))
    insides = [node.condition for node in walk(func.body) if isinstance(node, s.AssertStmt)]
    return look(insides, loop, 8)


@pytest.mark.parametrize(("dtype", "vectors"), [("int64", 8), ("int32", 4)])
def test_indices_side_by_side_are_compared_as_numbers_of_32_bits(dtype, vectors):
    @T.prim_func
    def as_given(P: T.Buffer((3, 32), dtype)):
        for i in range(32):
            assert T.And(P[1, i] >= 0, P[1, i] < 40), "x"

    found = seen(as_given)
    stores = [node for node in walk(found.step) if isinstance(node, s.BufferStore)]
    assert found.whole
    assert [str(buffer.dtype) for buffer in found.memory] == ["uint32"]
    assert len(stores) == vectors


def test_indices_apart_or_with_a_gap_leave_bits():
    @T.prim_func
    def apart(P: T.Buffer((64, 2), "int64")):
        for i in range(64):
            assert T.And(P[i, 0] >= 0, P[i, 0] < 40), "x"

    @T.prim_func
    def odd(P: T.Buffer((63,), "int64")):
        for i in range(63):
            assert T.And(P[i] >= 0, P[i] < 40), "x"

    @T.prim_func
    def sums(P: T.Buffer((64,), "int64")):
        for i in range(64):
            assert T.And(P[i] * T.int64(2) >= 0, P[i] * T.int64(2) < 40), "x"

    for func in (apart, odd, sums):
        found = seen(func)
        assert not found.whole
        assert [buffer.name for buffer in found.memory] == ["outside"]
