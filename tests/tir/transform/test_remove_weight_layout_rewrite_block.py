from __future__ import annotations

import numpy as np
import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.runtime import tensor
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.interp import run as interpret
from tvm.tir.transform import RemoveWeightLayoutRewriteBlock

pytestmark = pytest.mark.pure


class TestParameter(PassTest):
    run = RemoveWeightLayoutRewriteBlock()
    same_results = False  # the weight is given in another layout

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 4), "float32"),
               C: T.Buffer((4, 4), "float32")) -> None:  # fmt: skip
        T.func_attr({"layout_free_buffers": [1]})
        W = T.alloc_buffer((4, 2, 4))
        for i, j in T.grid(8, 4):
            with T.block("layout_rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                W[vj, vi // 4, vi % 4] = B[vi, vj]
        for i, j, k in T.grid(4, 4, 8):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vj, vk // 4, vk % 4]

    @T.prim_func
    def Expected(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 2, 4), "float32"),
                 C: T.Buffer((4, 4), "float32")) -> None:  # fmt: skip
        T.func_attr({"layout_free_buffers": [1]})
        for i, j in T.grid(8, 4):
            with T.block("layout_rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads()
                T.writes()
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                T.evaluate(0)
        for i, j, k in T.grid(4, 4, 8):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk // 4, vk % 4]

    def test_the_weight_in_its_new_layout(self) -> None:
        rng = np.random.default_rng(0)
        a, b = (rng.standard_normal(x).astype("float32") for x in ((4, 8), (8, 4)))
        c = np.zeros((4, 4), "float32")
        interpret(self._after()["main"], a, b.T.reshape(4, 2, 4).copy(), c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)


WEIGHT = tensor(np.arange(32, dtype="float32").reshape(8, 4))


@T.prim_func
def constant(C: T.Buffer((8, 4), "float32")) -> None:
    b = T.allocate_const(WEIGHT, "float32", [8, 4])
    B = T.decl_buffer((8, 4), data=b)
    with T.block("body"):
        W = T.alloc_buffer((4, 2, 4))
        for i, j in T.grid(8, 4):
            with T.block("layout_rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                W[vj, vi // 4, vi % 4] = B[vi, vj]
        for i, j in T.grid(8, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = W[vj, vi // 4, vi % 4]


def test_constants_are_rewritten() -> None:
    after = RemoveWeightLayoutRewriteBlock()(IRModule({"main": constant}))["main"]
    c = np.zeros((8, 4), "float32")
    interpret(after, c)
    np.testing.assert_array_equal(c, WEIGHT.numpy())
    (node,) = [n for n in walk(after.body) if isinstance(n, s.AllocateConst)]
    assert [int(x) for x in node.extents] == [4, 2, 4]


def test_contents_may_be_left_out() -> None:
    skip = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)
    after = skip(IRModule({"main": constant}))["main"]
    (node,) = [n for n in walk(after.body) if isinstance(n, s.AllocateConst)]
    assert node.data.shape == (4, 2, 4)


def test_blocks_that_are_no_copies() -> None:
    @T.prim_func
    def wrong(B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")) -> None:
        W = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("layout_rewrite"):
                vi = T.axis.spatial(8, i)
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                W[vi] = B[vi] * T.float32(2)
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = W[vi]

    with pytest.raises(TVMError, match="no copy of one element"):
        RemoveWeightLayoutRewriteBlock()(IRModule({"main": wrong}))


def test_other_functions_stay() -> None:
    @T.prim_func
    def plain(B: T.Buffer((8,), "float32")) -> None:
        for i in range(8):
            B[i] = T.float32(0)

    mod = IRModule({"main": plain})
    assert RemoveWeightLayoutRewriteBlock()(mod)["main"] is mod["main"]


class TestPanelsOfAParameter(PassTest):
    """As rules for CPUs pack weights: a block over the result, zeros behind the last column."""

    run = RemoveWeightLayoutRewriteBlock()
    same_results = False  # the weight is given in another layout

    @T.prim_func
    def Before(B: T.Buffer((3, 10), "float32"), C: T.Buffer((3, 10), "float32")) -> None:
        W = T.alloc_buffer((3, 3, 4))
        for o, i, p in T.grid(3, 3, 4):
            with T.block("panels"):
                vo, vi, vp = T.axis.remap("SSS", [o, i, p])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                W[vo, vi, vp] = T.if_then_else(
                    vo * 4 + vp < 10, B[vi, vo * 4 + vp], T.float32(0)
                )
        for i, j in T.grid(3, 10):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = W[vj // 4, vi, vj % 4]

    @T.prim_func
    def Expected(B: T.Buffer((3, 3, 4), "float32"), C: T.Buffer((3, 10), "float32")) -> None:
        for o, i, p in T.grid(3, 3, 4):
            with T.block("panels"):
                _vo, _vi, _vp = T.axis.remap("SSS", [o, i, p])
                T.reads()
                T.writes()
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                T.evaluate(0)
        for i, j in T.grid(3, 10):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj // 4, vi, vj % 4]


def test_constants_need_a_map_of_indices() -> None:
    func = TestPanelsOfAParameter.Before
    B, C = (func.buffer_map[param] for param in func.params)
    constant = s.AllocateConst(
        B.data, "float32", B.shape, tensor(np.zeros((3, 10), "float32")), func.body
    )
    param = func.params[1]
    alone = PrimFunc([param], constant, func.ret_type, {param: C}, func.attrs)
    with pytest.raises(TVMError, match="is no load at its variables"):
        RemoveWeightLayoutRewriteBlock()(IRModule({"main": alone}))
    made = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(IRModule({"main": alone}))
    found = [node for node in walk(made["main"].body) if isinstance(node, s.AllocateConst)]
    assert found[0].data.shape == (3, 3, 4)
