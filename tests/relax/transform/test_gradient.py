"""The gradient pass: expected modules, tuples, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.relax import interp
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Shared:
    """x is read three times, once through another variable."""

    @R.function
    def main(x: R.Tensor((3, 3), "float32")):
        with R.dataflow():
            lv1 = R.add(x, x)
            lv2 = R.add(lv1, x)
            gv = R.sum(lv2)
            R.output(gv)
        return gv


@I.ir_module
class SharedExpected:
    @R.function
    def main_adjoint(x: R.Tensor((3, 3), "float32")):
        with R.dataflow():
            lv1 = R.add(x, x)
            lv2 = R.add(lv1, x)
            gv = R.sum(lv2)
            gv_adjoint = R.ones(R.shape([]), dtype="float32")
            lv2_adjoint = R.broadcast_to(gv_adjoint, R.shape([3, 3]))
            lv1_adjoint = lv2_adjoint
            x_adjoint = lv2_adjoint
            x_adjoint1 = R.add(x_adjoint, lv1_adjoint)
            x_adjoint2 = R.add(x_adjoint1, lv1_adjoint)
            x_adjoint_out = x_adjoint2
            R.output(gv, x_adjoint_out)
        return (gv, (x_adjoint_out,))

    @R.function
    def main(x: R.Tensor((3, 3), "float32")):
        with R.dataflow():
            lv1 = R.add(x, x)
            lv2 = R.add(lv1, x)
            gv = R.sum(lv2)
            R.output(gv)
        return gv


def test_several_readers_add_up() -> None:
    assert_structural_equal(relax.transform.Gradient("main")(Shared), SharedExpected)


@I.ir_module
class Mlp:
    @R.function
    def main(
        x: R.Tensor((3, 10), "float32"),
        w: R.Tensor((10, 5), "float32"),
        b: R.Tensor((5,), "float32"),
        label: R.Tensor((3, 5), "float32"),
    ):
        with R.dataflow():
            lv0 = R.matmul(x, w)
            out = R.add(lv0, b)
            logits = R.nn.log_softmax(out)
            loss = R.nn.cross_entropy_with_logits(logits, label)
            R.output(loss)
        return loss


@I.ir_module
class MlpExpected:
    @R.function
    def main_adjoint(
        x: R.Tensor((3, 10), "float32"),
        w: R.Tensor((10, 5), "float32"),
        b: R.Tensor((5,), "float32"),
        label: R.Tensor((3, 5), "float32"),
    ):
        with R.dataflow():
            lv0 = R.matmul(x, w)
            out = R.add(lv0, b)
            logits = R.nn.log_softmax(out)
            loss = R.nn.cross_entropy_with_logits(logits, label)
            loss_adjoint = R.ones(R.shape([]), dtype="float32")
            lv = R.divide(loss_adjoint, R.const(3, "float32"))
            lv1 = R.negative(lv)
            logits_adjoint = R.multiply(lv1, label)
            lv3 = R.sum(logits_adjoint, axis=[-1], keepdims=True)
            lv4 = R.exp(logits)
            lv5 = R.multiply(lv3, lv4)
            out_adjoint = R.subtract(logits_adjoint, lv5)
            lv0_adjoint = out_adjoint
            b_adjoint = R.collapse_sum_to(out_adjoint, R.shape([5]))
            lv6 = R.permute_dims(x, axes=[1, 0])
            w_adjoint = R.matmul(lv6, lv0_adjoint)
            w_adjoint_out = w_adjoint
            b_adjoint_out = b_adjoint
            R.output(loss, w_adjoint_out, b_adjoint_out)
        return (loss, (w_adjoint_out, b_adjoint_out))


def test_only_what_was_asked_for_is_computed() -> None:
    made = relax.transform.Gradient("main", list(Mlp["main"].params[1:3]))(Mlp)
    assert_structural_equal(made["main_adjoint"], MlpExpected["main_adjoint"])
    assert made["main_adjoint"].attrs["global_symbol"] == "main_adjoint"
    assert_structural_equal(made["main"], Mlp["main"])


@I.ir_module
class Nested:
    @R.function
    def main(
        x: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")),
        y: R.Tensor((2,), "float32"),
        unused: R.Tensor((2,), "float32"),
    ):
        with R.dataflow():
            pair = (x, y)
            inner = pair[0]
            a = inner[0]
            b = x[1]
            c = R.multiply(a, b)
            joined = R.concat((c, y), axis=0)
            halves = R.split(joined, 2)
            first = halves[0]
            both = R.add(first, R.multiply(first, a))
            gv = R.sum(both)
            R.output(gv)
        return gv


def test_tuples_of_tuples() -> None:
    made = relax.transform.Gradient("main")(Nested)
    assert relax.analysis.well_formed(made)
    a, b = np.float32([2, 3]), np.float32([5, 7])
    y = np.float32([1, 1])
    value, (of_x, of_y, of_unused) = interp.run(made, (a, b), y, y, name="main_adjoint")
    assert value == (a * b + a * a * b).sum()
    np.testing.assert_allclose(of_x[0], b + 2 * a * b)
    np.testing.assert_allclose(of_x[1], a + a * a)
    np.testing.assert_array_equal(of_y, [0, 0])
    np.testing.assert_array_equal(of_unused, [0, 0])


def test_target_index_chooses_the_result() -> None:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.sum(x)
            b = R.sum(R.multiply(x, x))
            R.output(a, b)
        return (a, b)

    mod = IRModule({"main": main.with_attr("global_symbol", "main")})
    made = relax.transform.Gradient("main", target_index=1)(mod)
    (_, second), (grad,) = interp.run(made, np.float32([2, 3]), name="main_adjoint")
    assert second == 13
    np.testing.assert_array_equal(grad, [4, 6])


def test_a_long_function() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            value: Any = x
            for _ in range(3000):
                value = bb.emit(relax.op.negative(value))
            out = bb.emit_output(relax.op.sum(value))
        bb.emit_func_output(out)
    made = relax.transform.Gradient("main")(bb.get())
    _, (grad,) = interp.run(made, np.float32([1, 2]), name="main_adjoint")
    np.testing.assert_array_equal(grad, [1, 1])


@I.ir_module
class Wrong:
    @T.prim_func
    def kernel(a: T.Buffer((2,), "float32")):
        for i in range(2):
            a[i] = T.float32(0)

    @R.function
    def not_scalar(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y

    @R.function
    def no_dataflow(x: R.Tensor((2,), "float32")):
        y = R.sum(x)
        return y

    @R.function
    def two_blocks(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        z = R.sum(y)
        return z

    @R.function
    def nested(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = R.sum(x)
            R.output(y)
        return (y, (y, y))

    @R.function
    def no_rule(x: R.Tensor((2,), "float32"), s: R.Tensor((), "float32")):
        with R.dataflow():
            q = R.ccl.allreduce(x, "sum")
            y = R.sum(R.add(q, s))
            R.output(y)
        return y


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("not_scalar", {}, "the target must be a float without dimensions"),
        ("no_dataflow", {}, "must be one dataflow block"),
        ("two_blocks", {}, "2 blocks"),
        ("nested", {"target_index": 1}, "the target is no variable"),
        ("nested", {"target_index": 2}, r"legal: 0 \.\.\. 1"),
        ("not_scalar", {"target_index": 1}, "there is one result only"),
        ("no_rule", {}, r"relax\.ccl\.allreduce has no gradient"),
        ("nobody", {}, "there is no function 'nobody'"),
        ("kernel", {}, "is no Relax function"),
    ],
)
def test_what_cannot_be_differentiated_is_named(
    name: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(TVMError, match=words):
        relax.transform.Gradient(name, **options)(Wrong)


def test_integers_get_zeros_unless_they_are_asked_for() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((3, 4), "float32"), i: R.Tensor((2,), "int64")):
            with R.dataflow():
                lv = R.take(x, i, axis=0)
                gv = R.sum(lv)
                R.output(gv)
            return gv

    made = relax.transform.Gradient("main")(Mod)["main_adjoint"]
    assert made.ret_struct_info.fields[1].fields[1] == relax.TensorStructInfo((2,), "int64")
    with pytest.raises(TVMError, match="the variable i has no gradient"):
        relax.transform.Gradient("main", Mod["main"].params[1])(Mod)


def backward(func: relax.Function, at: int = 3) -> list[str]:
    """The values that the backward part of an adjoint binds, from the `at`th binding on."""
    return [str(b.value) for b in func.body.blocks[0].bindings[at:] if "_out" not in str(b.var)]


def test_formulas() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def spread(x: R.Tensor((2, 4), "float32")):
            with R.dataflow():
                lv = R.variance(x, axis=[-1], keepdims=True)
                gv = R.sum(lv)
                R.output(gv)
            return gv

        @R.function
        def running(x: R.Tensor((2, 4), "float32")):
            with R.dataflow():
                lv = R.cumsum(x, axis=1)
                gv = R.sum(lv)
                R.output(gv)
            return gv

        @R.function
        def sums(x: R.Tensor((2, 4), "float32")):
            with R.dataflow():
                lv = R.sum(x, axis=[-1])
                gv = R.sum(lv)
                R.output(gv)
            return gv

    def made(name: str) -> list[str]:
        return backward(relax.transform.Gradient(name)(Mod)[f"{name}_adjoint"], 4)

    assert made("spread") == [
        'R.multiply(R.const(0.5, "float32"), x)',
        "R.sum(x, axis=[-1], keepdims=True)",
        'R.multiply(R.const(0.125, "float32"), lv1)',
        "R.subtract(lv, lv2)",
        "R.multiply(lv_adjoint, lv3)",
    ]
    assert made("running")[:2] == [
        "R.sum(lv_adjoint, axis=[1], keepdims=True)",
        'R.cumsum(lv_adjoint, axis=1, dtype="void", exclusive=False)',
    ]
    assert made("sums")[0] == "R.expand_dims(lv_adjoint, axis=[-1])"


def test_gradients_of_values_within_the_function() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.multiply(a, y)
                c = R.sum(b)
                R.output(c)
            return c

    a = Mod["main"].body.blocks[0].bindings[0].var
    made = relax.transform.Gradient("main", [a, Mod["main"].params[1]])(Mod)
    x, y = np.float32([0.1, 0.2, 0.3]), np.float32([1, 2, 3])
    _, (of_a, of_y) = interp.run(made, x, y, name="main_adjoint")
    np.testing.assert_allclose(of_a, y)
    np.testing.assert_allclose(of_y, np.exp(x), rtol=1e-6)


def test_require_grads_are_variables_and_stand_once() -> None:
    x = Shared["main"].params[0]
    other = Wrong["nested"].params[0]
    with pytest.raises(TVMError, match="is no variable of 'main'"):
        relax.transform.Gradient("main", other)(Shared)
    with pytest.raises(TVMError, match="appears more than once"):
        relax.transform.Gradient("main", [x, x])(Shared)


def test_gradient_runs_compiled() -> None:
    pytest.importorskip("llvmlite")
    made = relax.transform.Gradient("main", list(Mlp["main"].params[:3]))(Mlp)
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-1, 1, s).astype("float32") for s in ((3, 10), (10, 5), (5,), (3, 5))]
    vm = relax.VirtualMachine(tvm.compile(made, target="llvm"), tvm.cpu())
    found = vm["main_adjoint"](*map(tvm.runtime.tensor, arrays))
    wanted = interp.run(made, *arrays, name="main_adjoint")
    np.testing.assert_allclose(found[0].numpy(), wanted[0], rtol=1e-5)
    for a, b in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-4, atol=1e-6)


def test_parts_of_all_gradients_come_first() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 5), "float32"),
                 b: R.Tensor((5,), "float32")):
            with R.dataflow():
                a = R.matmul(x, w)
                c = R.divide(a, b)
                gv = R.sum(c)
                R.output(gv)
            return gv

    adjoint = relax.transform.Gradient("main")(Before)["main_adjoint"]
    names = [str(getattr(b.value, "op", "")) for b in adjoint.body.blocks[0].bindings]
    assert [name.removeprefix("Op(relax.").rstrip(")") for name in names][3:-3] == [
        "ones", "broadcast_to", "negative", "multiply", "divide", "divide", "collapse_sum_to",
        "permute_dims", "permute_dims", "matmul", "matmul",
    ]  # fmt: skip
