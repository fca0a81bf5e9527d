"""AlterOpImpl: kernels with other layouts take the place of those of an operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.expr import Call
from tvm.relax.transform import AlterOpImpl, DeadCodeElimination
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def _alter(mod: IRModule, name: str, kernel: Any, maps: Any, outer: Any = None) -> IRModule:
    after = AlterOpImpl({name: kernel}, {name: maps}, {name: outer}, {name: None})(mod)
    return DeadCodeElimination()(after)


@I.ir_module
class Add:
    @T.prim_func(private=True)
    def add(
        a: T.Buffer((16,), "float32"), b: T.Buffer((16,), "float32"), c: T.Buffer((16,), "float32")
    ):
        T.func_attr({"operator_name": "relax.add"})
        for i in range(16):
            with T.block("add"):
                v = T.axis.spatial(16, i)
                c[v] = a[v] + b[v]

    @R.function
    def main(x: R.Tensor((16,), "float32"), y: R.Tensor((16,), "float32")):
        cls = Add
        with R.dataflow():
            lv = R.call_tir(cls.add, (x, y), out_sinfo=R.Tensor((16,), "float32"))
            gv: R.Tensor((16,), "float32") = lv
            R.output(gv)
        return gv


@T.prim_func(private=True)
def add_2d(
    a: T.Buffer((4, 4), "float32"), b: T.Buffer((4, 4), "float32"), c: T.Buffer((4, 4), "float32")
):
    for i, j in T.grid(4, 4):
        with T.block("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            c[vi, vj] = a[vi, vj] + b[vi, vj]


def test_operands_and_result_change_their_layout() -> None:
    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def relax_add_replacement(
            a: T.Buffer((4, 4), "float32"),
            b: T.Buffer((4, 4), "float32"),
            c: T.Buffer((4, 4), "float32"),
        ):
            T.func_attr({"operator_name": "relax.add"})
            for i, j in T.grid(4, 4):
                with T.block("add"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    c[vi, vj] = a[vi, vj] + b[vi, vj]

        @R.function
        def main(x: R.Tensor((16,), "float32"), y: R.Tensor((16,), "float32")):
            cls = Expected
            with R.dataflow():
                lv = R.layout_transform(
                    x, index_map=lambda i: (i // 4, i % 4), pad_value=None,
                    axis_separators=[1], input_axis_separators=[],
                )  # fmt: skip
                lv1 = R.layout_transform(y, index_map=lambda i: (i // 4, i % 4), pad_value=None)
                lv2 = R.call_tir(
                    cls.relax_add_replacement, (lv, lv1), out_sinfo=R.Tensor((4, 4), "float32")
                )
                lv_1 = R.layout_transform(lv2, index_map=lambda i, j: (i * 4 + j,), pad_value=None)
                gv: R.Tensor((16,), "float32") = lv_1
                R.output(gv)
            return gv

    split = lambda i: (i // 4, i % 4)
    after = _alter(Add, "relax.add", add_2d, [split] * 3, [[1]])
    assert_structural_equal(after, Expected)
    rng = np.random.default_rng(0)
    x, y = rng.random(16, "float32"), rng.random(16, "float32")
    np.testing.assert_array_equal(run_interp(after, [x, y]), x + y)


def test_a_kernel_of_the_same_layout() -> None:
    @T.prim_func(private=True)
    def twice(
        a: T.Buffer((16,), "float32"),
        b: T.Buffer((16,), "float32"),
        c: T.Buffer((16,), "float32"),
    ):
        for i in range(16):
            with T.block("add"):
                v = T.axis.spatial(16, i)
                c[v] = b[v] + a[v]

    text = _alter(Add, "relax.add", twice, [])["main"].script()
    assert "relax_add_replacement" in text
    assert "layout_transform" not in text


def test_several_results() -> None:
    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def halves(
            a: T.Buffer((16,), "float32"),
            b: T.Buffer((16,), "float32"),
            c: T.Buffer((16,), "float32"),
        ):
            T.func_attr({"operator_name": "relax.halves"})
            for i in range(16):
                with T.block("b"):
                    v = T.axis.spatial(16, i)
                    b[v] = a[v] * T.float32(0.5)
            for i in range(16):
                with T.block("c"):
                    v = T.axis.spatial(16, i)
                    c[v] = a[v] * T.float32(0.25)

        @R.function
        def main(x: R.Tensor((16,), "float32")):
            cls = Mod
            with R.dataflow():
                gv = R.call_tir(
                    cls.halves, (x,),
                    out_sinfo=[R.Tensor((16,), "float32"), R.Tensor((16,), "float32")],
                )  # fmt: skip
                R.output(gv)
            return gv

    @T.prim_func(private=True)
    def halves_2d(
        a: T.Buffer((4, 4), "float32"),
        b: T.Buffer((4, 4), "float32"),
        c: T.Buffer((4, 4), "float32"),
    ):
        for i, j in T.grid(4, 4):
            with T.block("both"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = a[vi, vj] * T.float32(0.5)
                c[vi, vj] = a[vi, vj] * T.float32(0.25)

    after = _alter(Mod, "relax.halves", halves_2d, [lambda i: (i // 4, i % 4)] * 3)
    x = np.arange(16, dtype="float32")
    half, quarter = run_interp(after, [x])
    np.testing.assert_array_equal(half, x / 2)
    np.testing.assert_array_equal(quarter, x / 4)
    assert after["main"].script().count("layout_transform") == 3


@I.ir_module
class Relu:
    @T.prim_func(private=True)
    def relu(a: T.Buffer((14,), "float32"), b: T.Buffer((14,), "float32")):
        T.func_attr({"operator_name": "relax.relu"})
        for i in range(14):
            with T.block("relu"):
                v = T.axis.spatial(14, i)
                b[v] = T.max(a[v], T.float32(0))

    @R.function
    def main(x: R.Tensor((14,), "float32")):
        cls = Relu
        with R.dataflow():
            lv = R.call_tir(cls.relu, (x,), out_sinfo=R.Tensor((14,), "float32"))
            lv1 = R.call_tir(cls.relu, (lv,), out_sinfo=R.Tensor((14,), "float32"))
            R.output(lv1)
        return lv1


@T.prim_func(private=True)
def relu_padded(a: T.Buffer((4, 4), "float32"), b: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = T.max(a[vi, vj], T.float32(0))


def test_padding_is_cut_off() -> None:
    after = _alter(Relu, "relax.relu", relu_padded, [lambda i: (i // 4, i % 4)] * 2)
    assert [var.name_hint for var in after.functions].count("remove_pad") == 1
    assert after["remove_pad"].attrs["operator_name"] == "remove_pad"
    x = np.random.default_rng(0).standard_normal(14).astype("float32")
    np.testing.assert_array_equal(run_interp(after, [x]), np.maximum(x, 0))


def test_other_operators_stay() -> None:
    assert AlterOpImpl({"relax.sub": add_2d}, {}, {}, {})(Add)["main"] is Add["main"]


def test_rejects_layouts_that_do_not_fit_the_kernel() -> None:
    with pytest.raises(TVMError, match="1 layouts for 3 buffers"):
        _alter(Add, "relax.add", add_2d, [lambda i: (i // 4, i % 4)])


@I.ir_module
class Halves:
    @T.prim_func(private=True)
    def halves(a: T.Buffer((16,), "float32"), b: T.Buffer((8,), "float32"),
               c: T.Buffer((8,), "float32")):
        T.func_attr({"operator_name": "relax.halves"})
        for i in range(8):
            with T.block("halves"):
                v = T.axis.spatial(8, i)
                b[v] = a[v]
                c[v] = a[v + 8]

    @R.function
    def main(x: R.Tensor((16,), "float32")):
        cls = Halves
        with R.dataflow():
            out = R.call_tir(
                cls.halves, (x,), out_sinfo=[R.Tensor((8,), "float32"), R.Tensor((8,), "float32")]
            )
            R.output(out)
        return out


@T.prim_func(private=True)
def halves_of_rows(a: T.Buffer((4, 4), "float32"), b: T.Buffer((2, 4), "float32"),
                   c: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("halves"):
            v = T.axis.spatial(8, i)
            b[v // 4, v % 4] = a[v // 4, v % 4]
            c[v] = a[v // 4 + 2, v % 4]


def test_each_result_is_brought_back_before_the_next_is_taken() -> None:
    def rows(i):
        return i // 4, i % 4

    x = np.arange(16, dtype="float32")
    wanted = [x[:8], x[8:]]
    after = _alter(Halves, "relax.halves", halves_of_rows, [rows, rows, None])
    values = [b.value for b in after["main"].body.blocks[0].bindings]
    kinds = [v.op.name if isinstance(v, Call) else type(v).__name__ for v in values]
    assert kinds == [
        "relax.layout_transform", "relax.call_tir", "TupleGetItem", "relax.layout_transform",
        "TupleGetItem", "Tuple",
    ]  # fmt: skip
    for found, one in zip(run_interp(after, [x]), wanted):
        np.testing.assert_array_equal(found, one)
