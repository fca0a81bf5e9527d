"""ComputePrimValue: numbers made of symbols are computed by a function."""

from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import ComputePrimValue
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestOperands(RelaxPassTest):
    run = ComputePrimValue()
    sizes = {"N": 32}
    same_results = False

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(A: R.Tensor(["N"])):
            N = T.int64()
            _ = R.assert_op(R.prim_value(N % 16 == 0))
            return A

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(A: R.Tensor(["N"])):
            N = T.int64()
            condition: R.Prim("bool") = Expected.compute_symbolic_expr(R.prim_value(N))
            _ = R.assert_op(condition)
            return A

        @T.prim_func(private=True)
        def compute_symbolic_expr(N: T.int64) -> T.bool:
            T.func_attr({"tir.is_host_func": True})
            T.ret(N % 16 == 0)


class TestResults(RelaxPassTest):
    run = ComputePrimValue()
    same_results = False

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(_N: R.Prim(value="N"), _M: R.Prim(value="M")
                 ) -> R.Prim(value="N * M"):
            N = T.int64()
            M = T.int64()
            out = R.prim_value(N * M)
            return out

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(_N: R.Prim(value="N"), _M: R.Prim(value="M")
                 ) -> R.Prim(value="N * M"):
            N = T.int64()
            M = T.int64()
            out = Expected.compute_symbolic_expr(R.prim_value(N), R.prim_value(M))
            return out

        @T.prim_func(private=True)
        def compute_symbolic_expr(N: T.int64, M: T.int64) -> T.int64:
            T.func_attr({"tir.is_host_func": True})
            T.ret(N * M)


class TestConditions(RelaxPassTest):
    run = ComputePrimValue()
    same_results = False

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(A: R.Tensor(["N"])):
            N = T.int64()
            if R.prim_value(N % 16 == 0):
                out = R.call_packed("fast", A, sinfo_args=[A.struct_info])
            else:
                out = R.call_packed("slow", A, sinfo_args=[A.struct_info])
            return out

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(A: R.Tensor(["N"])):
            N = T.int64()
            condition: R.Prim("bool") = Expected.compute_symbolic_expr(R.prim_value(N))
            if condition:
                out = R.call_packed("fast", A, sinfo_args=[A.struct_info])
            else:
                out = R.call_packed("slow", A, sinfo_args=[A.struct_info])
            return out

        @T.prim_func(private=True)
        def compute_symbolic_expr(N: T.int64) -> T.bool:
            T.func_attr({"tir.is_host_func": True})
            T.ret(N % 16 == 0)
