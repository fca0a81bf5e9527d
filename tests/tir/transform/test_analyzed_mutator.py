import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir.transform.analyzed_mutator import AnalyzedMutator, bare_condition

pytestmark = pytest.mark.pure


class Bounds(AnalyzedMutator):
    """Notes the bounds of the stored index at each store."""

    def __init__(self, func):
        super().__init__(func)
        self.found = []

    def visit_buffer_store_(self, op):
        bound = self.analyzer.const_int_bound(op.indices[0])
        self.found.append((bound.min_value, bound.max_value))
        return super().visit_buffer_store_(op)


def test_loops_conditions_lets_and_asserts():
    @T.prim_func
    def func(A: T.Buffer((64,), "int32"), n: T.int32):
        for i in range(16):
            A[i] = 0
            if T.likely(i < 4):
                A[i] = 1
            else:
                A[i] = 2
            with T.LetStmt(i * 2) as x:
                A[x] = 3
        assert n < 7, "n"
        A[n] = 4

    visitor = Bounds(func)
    visitor.visit_stmt(IRModule.from_expr(func)["func"].body)
    assert visitor.found[:4] == [(0, 15), (0, 3), (4, 15), (0, 30)]


def test_likely_is_a_mark():
    @T.prim_func
    def func(A: T.Buffer((64,), "int32"), n: T.int32):
        if T.likely(n < 4):
            A[n] = 1

    condition = func.body.condition if hasattr(func.body, "condition") else None
    assert type(bare_condition(condition)).__name__ == "LT"
