"""LegalizeOps: operators become kernels, once each."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import RelaxPassTest, calls, run_interp
from tvm import relax, tir, topi
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.transform import DecomposeOpsForInference, LegalizeOps
from tvm.relax.transform.legalize_ops import register_legalize
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestOperator(RelaxPassTest):
    run = LegalizeOps()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3,), "float32")):
            gv = R.add(x, y)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3,), "float32")):
            cls = Expected
            gv = R.call_tir(cls.add, (x, y), out_sinfo=R.Tensor((2, 3), "float32"))
            return gv

        @T.prim_func(private=True)
        def add(
            A: T.Buffer((T.int64(2), T.int64(3)), "float32"),
            B: T.Buffer((T.int64(3),), "float32"),
            T_add: T.Buffer((T.int64(2), T.int64(3)), "float32"),
        ):
            T.func_attr({"tir.noalias": True})
            for ax0, ax1 in T.grid(T.int64(2), T.int64(3)):
                with T.block("T_add"):
                    v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                    T_add[v_ax0, v_ax1] = A[v_ax0, v_ax1] + B[v_ax1]


class TestSymbolicShape(RelaxPassTest):
    run = LegalizeOps()
    sizes = {"n": 3}

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
            with R.dataflow():
                lv = R.nn.relu(x)
                gv = R.concat((x, lv), axis=0)
                R.output(gv)
            return gv

    def test_result_keeps_the_symbols(self):
        func = self._after()["main"]
        n = func.params[0].struct_info.shape.values[0]
        assert func.body.blocks[0].bindings[0].var.struct_info.shape.values[0] is n
        assert calls(self._after()) == ["relu", "concatenate"]


class TestEqualOperatorsShareAKernel(RelaxPassTest):
    run = LegalizeOps()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, y)
                b = R.add(a, y)
                c = R.add(a, a)
                gv = R.add(b, c)
                R.output(gv)
            return gv

    def test_kernels(self):
        after = self._after()
        assert calls(after) == ["add", "add", "add", "add"]
        assert len(after.functions) == 2


class TestOneOperandTwice(RelaxPassTest):
    run = LegalizeOps()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.subtract(x, x)
                gv = R.subtract(a, y)
                R.output(gv)
            return gv


class TestUnknownShapesStay(RelaxPassTest):
    run = LegalizeOps()
    same_results = False

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(ndim=2, dtype="float32"), y: R.Tensor((2, 3), "float32")):
            lv = R.nn.relu(x)
            gv = R.nn.relu(y)
            return (lv, gv)

    def test_calls(self):
        assert calls(self._after()) == ["relax.nn.relu", "relu"]


class TestBranches(RelaxPassTest):
    run = LegalizeOps()

    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            if c:
                a = R.nn.relu(x)
                r = R.add(a, x)
            else:
                r = R.nn.silu(x)
            return r

    def test_kernels(self):
        names = {var.name_hint for var in self._after().functions}
        assert names == {"main", "relu", "add", "silu"}


class TestLocalFunction(RelaxPassTest):
    run = LegalizeOps()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            @R.function
            def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                s = R.nn.relu(y)
                return s

            gv = inner(x)
            return gv

    def test_inner_call_is_legal(self):
        assert {var.name_hint for var in self._after().functions} == {"main", "relu"}


def _module() -> IRModule:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            lv = R.nn.relu(x)
            gv = R.nn.silu(lv)
            return gv

    return Mod


def test_custom_rules_come_first():
    asked = []

    def twice(bb, call):
        asked.append(call.op.name)
        return bb.call_te(lambda x: topi.multiply(x, x), call.args[0], primfunc_name_hint="mine")

    after = LegalizeOps({"relax.nn.relu": twice})(_module())
    assert asked == ["relax.nn.relu"]
    assert calls(after) == ["mine", "silu"]


def test_a_custom_rule_may_leave_the_call():
    after = LegalizeOps({"relax.nn.relu": lambda bb, call: call})(_module())
    assert calls(after) == ["relax.nn.relu", "silu"]


def test_warning_about_operators_without_a_rule(caplog):
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            gv = R.shape_of(x)
            return gv

    with caplog.at_level("WARNING"):
        LegalizeOps(enable_warning=True)(Mod)
    assert "No legalization func for relax.shape_of is found." in caplog.text
    caplog.clear()
    LegalizeOps()(Mod)
    assert caplog.text == ""


def test_register_legalize_replaces_the_rule():
    op = relax.op.nn.relu.op
    before = op.get_attr("FLegalize")
    try:
        leaky = topi.nn.leaky_relu
        register_legalize("relax.nn.relu", lambda bb, call: bb.call_te(leaky, call.args[0], 0.1))
        assert calls(LegalizeOps()(_module())) == ["leaky_relu", "silu"]
    finally:
        register_legalize("relax.nn.relu", before)
    assert calls(LegalizeOps()(_module())) == ["relu", "silu"]


def test_calls_keep_their_spans():
    mod = _module()
    spans = [b.value.span for b in mod["main"].body.blocks[0].bindings]
    after = [b.value.span for b in LegalizeOps()(mod)["main"].body.blocks[0].bindings]
    assert all(span is not None for span in spans)
    assert [s.line for s in after] == [s.line for s in spans]


def test_a_legal_module_stays_the_same():
    once = LegalizeOps()(_module())
    again = LegalizeOps()(once)
    assert again["main"] is once["main"]


def test_module_of_no_operators_is_kept():
    mod = IRModule({})
    assert dict(LegalizeOps()(mod).functions) == {}




def test_functions_of_the_run_time_do_the_rest() -> None:
    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32"), s: R.Shape(["n"])):
            _ = R.print(x, format="value {}")
            y = R.shape_to_tensor(s)
            return y

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32"), s: R.Shape(["n"])):
            _ = R.call_packed("relax.run.print", R.str("value {}"), x, sinfo_args=R.Tuple())
            y = R.call_pure_packed(
                "relax.run.shape_to_tensor", s, sinfo_args=R.Tensor((1,), "int64")
            )
            return y

    assert_structural_equal(LegalizeOps()(Before), Expected)


def test_kernels_give_their_result_where_the_operator_did() -> None:
    @I.ir_module
    class Mod:
        I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

        @R.function
        def main(x: R.Tensor((2, 3), "float32", "llvm:1"), y: R.Tensor((2, 3), "float32")):
            a = R.add(x, x)
            b = R.add(y, y)
            return (a, b)

    bindings = LegalizeOps()(Mod)["main"].body.blocks[0].bindings
    devices = [binding.value.sinfo_args[0].vdevice for binding in bindings[:2]]
    assert devices == [Mod.global_infos["vdevice"][1], None]


def test_kernels_carry_the_target_of_their_device() -> None:
    @I.ir_module
    class Mod:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda")]})

        @R.function
        def main(
            x: R.Tensor((2, 3), "float32", "llvm"),
            y: R.Tensor((2, 3), "float32", "cuda"),
            z: R.Tensor((2, 3), "float32"),
        ):
            a = R.add(x, x)
            b = R.add(y, y)
            c = R.add(z, z)
            d = R.split(x, 3, axis=1)
            e = R.exp(x)
            f = R.exp(x)
            return (a, b, c, d, e, f)

    new = LegalizeOps()(Mod)
    targets = {
        var.name_hint: func.attrs["target"].kind.name if "target" in func.attrs else None
        for var, func in new.functions.items()
        if isinstance(func, tir.PrimFunc)
    }
    assert targets == {
        "add": None, "add_llvm": "llvm", "add_cuda": "cuda", "split_llvm": "llvm",
        "tir_exp_llvm": "llvm",
    }  # fmt: skip
    pieces = new["main"].body.blocks[0].bindings[3].value.sinfo_args[0].fields
    assert [p.vdevice for p in pieces] == [Mod.global_infos["vdevice"][0]] * 3


def test_what_a_rule_is_made_of_is_legalized() -> None:
    def relu_of_sum(bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        total = bb.emit(relax.op.add(call.args[0], call.args[1]))
        return relax.op.nn.relu(relax.op.multiply(total, total))

    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                z = R.divide(x, y)
                R.output(z)
            return z

    legal = LegalizeOps({"relax.divide": relu_of_sum})(Mod)
    assert calls(legal) == ["add", "multiply", "relu"]
    assert relax.analysis.well_formed(legal)


def test_equal_operators_are_legalized_once_each_with_its_operands() -> None:
    """Large constants are operands as others are; the values of small ones are in the kernel."""
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((6, 6)).astype("float32") for _ in range(2)]
    n = tir.Var("n", "int64")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((n, 6), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            value = x
            for weight in weights:
                value = bb.emit(relax.op.matmul(value, relax.const(weight)))
            for number in (2.0, 3.0, 2.0):
                value = bb.emit(relax.op.multiply(value, relax.const(number, "float32")))
            value = bb.emit(relax.op.reshape(value, relax.ShapeExpr([n, 2, 3])))
            value = bb.emit(relax.op.reshape(value, relax.ShapeExpr([n, 3, 2])))
            out = bb.emit_output(relax.op.reshape(value, relax.ShapeExpr([n, 2, 3])))
        bb.emit_func_output(out)
    after = LegalizeOps()(bb.get())
    names = calls(after)
    assert names[0] == names[1]
    assert names[2] == names[4] != names[3]
    assert len(set(names[5:])) == 3  # (n, 6), (n, 2, 3) and (n, 3, 2) are the operands
    for rows in (0, 1, 5):
        given = rng.standard_normal((rows, 6)).astype("float32")
        wanted = (given @ weights[0] @ weights[1] * 12).reshape(rows, 2, 3)
        np.testing.assert_allclose(run_interp(after, [given]), wanted, rtol=1e-5, atol=1e-5)


def test_operators_of_other_symbols_are_other_operators() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("m", 4), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.exp(y)
                c = R.exp(a)
                R.output(b, c)
            return (b, c)

    after = LegalizeOps()(Before)
    x, y = np.ones((2, 4), "float32"), np.zeros((3, 4), "float32")
    b, c = run_interp(after, [x, y])
    np.testing.assert_allclose(b, np.exp(y), rtol=1e-6)
    np.testing.assert_allclose(c, np.exp(np.exp(x)), rtol=1e-6)
    assert_structural_equal(after["main"].ret_struct_info, Before["main"].ret_struct_info, True)


def test_the_shape_of_reshape_may_be_a_variable():
    """What it is bound to has the extents."""

    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 6), "float32"), t: R.Tensor((2,), "int64")):
            s: R.Shape([8, 3]) = R.shape([8, 3])
            y = R.reshape(x, s)
            p = R.tensor_to_shape(t)
            z = R.reshape(y, p)
            return z

    after = LegalizeOps()(DecomposeOpsForInference()(Mod))
    text = after["main"].script()
    assert text.count("R.call_tir(") == 2
    assert "R.reshape" not in text
    x = np.random.rand(4, 6).astype("float32")
    found = run_interp(after, [x, np.array([6, 4], "int64")])
    np.testing.assert_array_equal(found, x.reshape(6, 4))


def test_extents_of_pieces_stay_as_they_are_computed():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((3, "n * 4"), "float32"), y: R.Tensor(("n",), "float32")):
            parts = R.split(x, 4, axis=1)
            return parts

    call = LegalizeOps()(Mod)["main"].body.blocks[0].bindings[0].value
    extents = [str(info.shape.values[1]) for info in call.sinfo_args[0].fields]
    size = "(n * T.int64(4) + T.int64(4) - T.int64(1)) // T.int64(4)"
    assert extents[:2] == [size, f"{size} * T.int64(2) - {size}"]
    assert extents[3] == f"n * T.int64(4) - {size} * T.int64(3)"
    assert len(call.args) == 3  # n: no buffer has it as an extent


def test_products_of_unknown_kinds_are_refused():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((3, 4)), y: R.Tensor((4, 5), "float32")):
            z = R.matmul(x, y)
            return z

    with pytest.raises(AssertionError, match="the dtype of both operands must be known"):
        LegalizeOps()(Mod)


def test_batches_of_one_are_read_at_their_index():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((1, 1, 3, 4), "float32"), y: R.Tensor((1, 7, 4, 5), "float32")):
            z = R.matmul(x, y)
            return z

    text = LegalizeOps()(Mod)["matmul"].script()
    assert "x[v_i0, T.int64(0), v_i2, v_k] * y[v_i0, v_i1, v_k, v_i3]" in text


def test_operators_of_distributed_tensors_stay():
    mesh = relax.distributed.DeviceMesh((2,), I.Range(0, 2))
    place = relax.distributed.Placement.from_text("S[0]")
    info = relax.distributed.DTensorStructInfo(
        relax.TensorStructInfo((8, 8), "float32"), mesh, place
    )
    for op in (relax.op.add, relax.op.matmul, lambda x, _: relax.op.split(x, 2, 1)):
        block = relax.BlockBuilder()
        x = relax.Var("x", info)
        with block.function("main", [x]):
            block.emit_func_output(block.emit(op(x, x)))
        before = block.get()
        assert_structural_equal(LegalizeOps()(before), before)


@pytest.mark.parametrize(
    "build", [lambda x: relax.op.add(x, x), relax.op.nn.relu, relax.op.nn.softmax, relax.op.sum]
)
def test_operators_of_unknown_types_stay(build):
    x = relax.Var("x", relax.TensorStructInfo((3, 4), ""))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(build(x)))
    assert_structural_equal(LegalizeOps()(bb.get()), bb.get())


@pytest.mark.parametrize(
    "build",
    [
        lambda pair: relax.op.concat(pair, axis=0),
        relax.op.stack,
        relax.op.meshgrid,
        lambda pair: relax.op.einsum(pair, "i,i->"),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_fields_of_a_tuple_that_is_made_here_are_what_it_was_made_of(build, known):
    info = relax.TensorStructInfo((3,), "float32")
    x, y = relax.Var("x", info), relax.Var("y", info)
    given = relax.Var("t", relax.TupleStructInfo([info, info]))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y, given]):
        pair = bb.emit(relax.Tuple([x, y])) if known else given
        bb.emit_func_output(bb.emit(build(bb.emit(pair))))
    main = LegalizeOps()(bb.get())["main"]
    call = main.body.blocks[0].bindings[-1].value
    assert (tuple(call.args[1].fields) == (x, y)) is known
    assert relax.analysis.well_formed(main)
