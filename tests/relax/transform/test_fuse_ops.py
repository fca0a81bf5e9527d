"""FuseOps: which kernels share a function, and what that function looks like."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import RelaxPassTest, arguments, assert_same, calls, run_interp
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.relax import interp
from tvm.relax.transform import AnnotateTIROpPattern, FuseOps, FuseTIR, LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def fused(mod: IRModule, level: int = 2, *, wide: bool = False) -> IRModule:
    """The module with its operators made kernels and fused; it must still mean the same."""
    kernels = Sequential([LegalizeOps(), AnnotateTIROpPattern()])(mod)
    after = FuseOps(level, wide=wide)(kernels)
    args = arguments(mod["main"], {"n": 3, "m": 5})
    assert_same(run_interp(mod, args), run_interp(after, args))
    assert relax.analysis.well_formed(after)
    return after


class TestChain(RelaxPassTest):
    run = FuseOps(2)

    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def add(x: T.Buffer((4,), "float32"), p: T.Buffer((), "float32"),
                out: T.Buffer((4,), "float32")):
            T.func_attr({"op_pattern": 0})
            for i in range(4):
                with T.block("add"):
                    vi = T.axis.spatial(4, i)
                    out[vi] = x[vi] + p[()]

        @T.prim_func(private=True)
        def square(x: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):
            T.func_attr({"op_pattern": 0})
            for i in range(4):
                with T.block("square"):
                    vi = T.axis.spatial(4, i)
                    out[vi] = x[vi] * x[vi]

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Before
            with R.dataflow():
                lv = R.call_tir(cls.add, (x, R.const(1, "float32")), R.Tensor((4,), "float32"))
                lv1 = R.call_tir(cls.square, (lv,), R.Tensor((4,), "float32"))
                gv = R.call_tir(cls.square, (lv1,), R.Tensor((4,), "float32"))
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def add(x: T.Buffer((4,), "float32"), p: T.Buffer((), "float32"),
                out: T.Buffer((4,), "float32")):
            T.func_attr({"op_pattern": 0})
            for i in range(4):
                with T.block("add"):
                    vi = T.axis.spatial(4, i)
                    out[vi] = x[vi] + p[()]

        @T.prim_func(private=True)
        def square(x: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):
            T.func_attr({"op_pattern": 0})
            for i in range(4):
                with T.block("square"):
                    vi = T.axis.spatial(4, i)
                    out[vi] = x[vi] * x[vi]

        @R.function(private=True)
        def fused_add_square_square(
            x: R.Tensor((4,), "float32"), param_0: R.Tensor((), "float32")
        ) -> R.Tensor((4,), "float32"):
            R.func_attr({"Primitive": True})
            cls = Expected
            with R.dataflow():
                lv = R.call_tir(cls.add, (x, param_0), R.Tensor((4,), "float32"))
                lv1 = R.call_tir(cls.square, (lv,), R.Tensor((4,), "float32"))
                gv = R.call_tir(cls.square, (lv1,), R.Tensor((4,), "float32"))
                R.output(gv)
            return gv

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Expected
            with R.dataflow():
                gv: R.Tensor((4,), "float32") = cls.fused_add_square_square(
                    x, R.const(1, "float32")
                )
                R.output(gv)
            return gv


def test_a_diamond_meets_in_one_kernel():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                a = R.nn.relu(x)
                b = R.add(a, x)
                c = R.multiply(a, x)
                gv = R.subtract(b, c)
                R.output(gv)
            return gv

    after = fused(Mod)
    assert calls(after) == ["fused_relu_add_multiply_subtract"]
    assert calls(after, "fused_relu_add_multiply_subtract") == [
        "relu", "add", "multiply", "subtract",
    ]  # fmt: skip


def test_a_diamond_around_an_opaque_kernel_is_not_fused_across_it():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                a = R.nn.relu(x)
                b = R.cumsum(a, axis=1)
                gv = R.add(a, b)
                R.output(gv)
            return gv

    assert calls(fused(Mod)) == ["relu", "cumsum", "add"]


def test_maps_follow_an_anchor_and_reductions_do_not():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 6), "float32"),
                 b: R.Tensor((6,), "float32")):
            with R.dataflow():
                lv = R.matmul(x, w)
                lv1 = R.add(lv, b)
                lv2 = R.nn.relu(lv1)
                gv = R.sum(lv2, axis=[1])
                R.output(gv)
            return gv

    assert calls(fused(Mod)) == ["fused_matmul_add_relu", "sum"]


def test_maps_follow_what_spreads_a_reduction_and_windows():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((1, 4, 8, 8), "float32")):
            with R.dataflow():
                lv = R.multiply(x, x)
                lv1 = R.nn.softmax(lv)
                lv2 = R.negative(lv1)
                lv3 = R.nn.max_pool2d(lv2, (2, 2))
                lv4 = R.nn.relu(lv3)
                lv5 = R.exp(lv4)
                gv = R.mean(lv5, axis=[1])
                R.output(gv)
            return gv

    assert calls(fused(Mod)) == [
        "multiply", "fused_softmax_tir_negative", "fused_max_pool2d_relu_tir_exp", "mean"
    ]  # fmt: skip


def test_maps_of_other_operands_join_and_broadcasts_do_not():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((8, 4), "float32"), w: R.Tensor((4, 8), "float32"),
                 y: R.Tensor((8, 8), "float32")):
            with R.dataflow():
                lv = R.matmul(x, w)
                lv1 = R.nn.relu(y)
                lv2 = R.add(lv, lv1)
                lv3 = R.matmul(w, lv2)
                gv = R.broadcast_to(lv3, (2, 4, 8))
                R.output(gv)
            return gv

    assert calls(fused(Mod)) == ["fused_matmul_relu_add", "matmul1", "broadcast_to"]


def test_values_that_only_leave_as_a_tuple_are_results_of_one_kernel():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((8, 4), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                lv1 = R.nn.relu(lv)
                gv = (lv, lv1)
                R.output(gv)
            return gv

    assert calls(fused(Mod)) == ["tir_exp", "relu"]
    assert calls(fused(Mod, wide=True)) == ["fused_tir_exp_relu"]


def test_branches_are_fused_where_groups_may_be_wide():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((8, 4), "float32"), yes: R.Tensor((), "bool")):
            if yes:
                with R.dataflow():
                    lv = R.exp(x)
                    gv = R.nn.relu(lv)
                    R.output(gv)
                r = gv
            else:
                r = x
            return r

    name = "fused_tir_exp_relu"
    assert name not in [var.name_hint for var in fused(Mod).functions]
    assert name in [var.name_hint for var in fused(Mod, wide=True).functions]


def test_names_of_what_is_called():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((8, 4), "float32"), y: R.Tensor((8, 4), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.exp(y)
                c = R.nn.relu(b)
                d = R.nn.softmax(c)
                e = R.negative(a)
                R.output(d, e)
            return (d, e)

        @R.function
        def other(x: R.Tensor((8, 4), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.nn.relu(a)
                R.output(b)
            return b

    after = fused(Mod)
    names = [[b.var.name_hint for b in after[f].body.blocks[0].bindings] for f in ("main", "other")]
    # groups stand as their first members do
    assert names == [["gv", "lv", "d"], ["gv1"]]
    assert calls(after) == ["fused_tir_exp_tir_negative", "fused_tir_exp_relu", "softmax"]


def test_items_of_a_tuple_from_outside_are_taken_right_before_the_call():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tuple(R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32"))):
            with R.dataflow():
                lv = x[0]
                lv1 = x[1]
                lv2 = R.exp(lv)
                lv3 = R.matmul(lv2, lv1)
                gv = R.nn.relu(lv3)
                R.output(gv)
            return gv

    after = fused(Mod)
    assert calls(after) == ["fused_tir_exp", "fused_matmul_relu"]
    values = [binding.value for binding in after["main"].body.blocks[0].bindings]
    assert [type(value) for value in values] == [
        relax.TupleGetItem, relax.Call, relax.TupleGetItem, relax.Call
    ]  # fmt: skip
    assert [value.index for value in values[::2]] == [0, 1]
    assert [p.name_hint for p in after["fused_tir_exp"].params] == ["x_0"]


def test_two_anchors_never_share_a_kernel():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                lv = R.matmul(x, w)
                lv1 = R.matmul(x, lv)
                gv = R.add(lv, lv1)
                R.output(gv)
            return gv

    assert calls(fused(Mod)) == ["matmul", "fused_matmul_add"]


def test_maps_go_into_the_reduction_after_them():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 8), "float32")):
            with R.dataflow():
                lv = R.multiply(x, x)
                gv = R.sum(lv, axis=[1])
                R.output(gv)
            return gv

    assert calls(fused(Mod)) == ["fused_multiply_sum"]


def test_reshuffles_join_maps():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 8), "float32")):
            with R.dataflow():
                lv = R.nn.relu(x)
                lv1 = R.permute_dims(lv)
                gv = R.add(lv1, R.const(1, "float32"))
                R.output(gv)
            return gv

    assert calls(fused(Mod)) == ["fused_relu_transpose_add"]


def test_tuples_of_one_kernel_are_taken_apart_inside():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 8), "float32")):
            with R.dataflow():
                lv = R.split(x, 2, axis=1)
                a = lv[0]
                b = lv[1]
                gv = R.add(a, b)
                R.output(gv)
            return gv

    after = fused(Mod)
    assert calls(after) == ["fused_split_add"]


def test_a_value_read_outside_of_the_block_is_an_end():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.nn.relu(x)
                gv = R.add(lv, x)
                gv1 = R.multiply(gv, x)
                R.output(gv, gv1)
            return (gv, gv1)

    assert calls(fused(Mod)) == ["fused_relu_add", "multiply"]


def test_only_dataflow_blocks_are_looked_at():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            lv = R.nn.relu(x)
            gv = R.add(lv, x)
            return gv

    assert calls(fused(Mod)) == ["relu", "add"]


def test_symbolic_sizes():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
            with R.dataflow():
                lv = R.nn.relu(x)
                gv = R.add(lv, x)
                R.output(gv)
            return gv

    assert calls(fused(Mod)) == ["fused_relu_add"]


def test_sizes_that_no_operand_tells_are_arguments():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), s: R.Shape(["m"])) -> R.Tensor(("m",), "float32"):
            m = T.int64()
            with R.dataflow():
                lv = R.full(R.shape([m]), R.const(2, "float32"), dtype="float32")
                lv1 = R.add(lv, R.const(1, "float32"))
                gv = R.nn.relu(lv1)
                R.output(gv)
            return gv

    after = fused(Mod)
    group = after[calls(after)[0]]
    assert isinstance(group.params[-1].struct_info, relax.ShapeStructInfo)
    assert [v.name for v in group.params[-1].struct_info.values] == ["m"]


def test_constants_become_arguments_and_equal_groups_are_one():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                a = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
                b = R.nn.relu(a)
                c = R.matmul(w, b)
                d = R.cumsum(c, axis=1)
                e = R.add(d, R.const([5.0, 6.0, 7.0, 8.0], "float32"))
                gv = R.nn.relu(e)
                R.output(gv)
            return gv

    after = fused(Mod)
    assert calls(after) == ["fused_add_relu", "matmul", "cumsum", "fused_add_relu"]
    call = after["main"].body.blocks[0].bindings[0].value
    assert isinstance(call.args[1], relax.Constant)


def _chain(length: int) -> IRModule:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            value = x
            for _ in range(length):
                value = bb.emit(relax.op.add(value, x))
            out = bb.emit_output(value)
        bb.emit_func_output(out)
    return bb.get()


@pytest.mark.parametrize("depth", [4, 6, 100])
def test_the_largest_depth_bounds_a_group(depth: int):
    with PassContext(opt_level=2, config={"relax.FuseOps.max_depth": depth}):
        after = FuseOps()(Sequential([LegalizeOps(), AnnotateTIROpPattern()])(_chain(12)))
    sizes = [len(calls(after, name)) if name != "add" else 1 for name in calls(after)]
    assert sum(sizes) == 12
    assert max(sizes) == min(depth, 12)


def test_level_zero_fuses_nothing():
    assert calls(fused(_chain(3), level=0)) == ["add", "add", "add"]


def test_the_level_of_the_context_counts():
    kernels = Sequential([LegalizeOps(), AnnotateTIROpPattern()])(_chain(3))
    with PassContext(opt_level=0):
        assert calls(FuseOps()(kernels)) == ["add", "add", "add"]
    with PassContext(opt_level=1):
        assert calls(FuseOps()(kernels)) == ["fused_add_add_add"]


def test_kernels_without_a_pattern_stay_alone():
    kernels = LegalizeOps()(_chain(3))
    assert calls(FuseOps(2)(kernels)) == ["add", "add", "add"]


def test_spans_stay_on_the_kernels():
    mod = _chain(2)
    after = fused(mod)
    group = after["fused_add_add"]
    lines = [b.value.span for b in group.body.blocks[0].bindings]
    wanted = [b.value.span for b in mod["main"].body.blocks[0].bindings[:2]]
    assert [str(s) for s in lines] == [str(s) for s in wanted]


def test_only_the_items_that_are_used_are_passed():
    @I.ir_module
    class Mod:
        @R.function
        def main(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))):
            with R.dataflow():
                x = t[1]
                y = R.add(x, x)
                gv = R.exp(y)
                R.output(gv)
            return gv

    after = fused(Mod)
    item, call = (b.value for b in after["main"].body.blocks[0].bindings)
    assert isinstance(item, relax.TupleGetItem)
    assert isinstance(call.args[0], relax.Var)
    (param,) = after[call.op].params
    assert param.struct_info.ndim == 1


def test_an_item_of_what_is_computed_joins_it():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((2, 6), "float32"), w: R.Tensor((3, 3), "float32")):
            with R.dataflow():
                parts = R.split(x, 2, axis=1)
                half = parts[1]
                gv = R.matmul(half, w)
                R.output(gv)
            return gv

    after = FuseTIR()(fused(Mod))
    assert calls(after)[0] == "fused_split"
    x, w = np.arange(12, dtype="float32").reshape(2, 6), np.eye(3, dtype="float32") * 2
    np.testing.assert_array_equal(np.asarray(interp.run(after, x, w)), x[:, 3:] * 2)


def test_a_value_that_a_local_function_captures_is_no_inner_one() -> None:
    @I.ir_module
    class Captures:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)

                @R.function
                def local(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                    return R.add(z, a)

                b = R.negative(a)
                c = local(b)
                R.output(c)
            return c

    fused(Captures)
