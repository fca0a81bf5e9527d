"""The meaning of programs: calls, control flow, closures, symbols, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import relax, te, tir
from tvm.error import BoundsError, DTypeError, ShapeError, TVMError
from tvm.ffi import register_global_func
from tvm.relax import interp, op
from tvm.relax.interp import AssertionFailed, Interpreter
from tvm.script import relax as R

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")
X = relax.Var("x", relax.TensorStructInfo((N, 2), "float32"))
DATA = np.arange(6, dtype="float32").reshape(3, 2)


def build(output: object, *params: relax.Var, pure: bool = True) -> relax.BlockBuilder:
    bb = relax.BlockBuilder()
    with bb.function("main", list(params) or [X], pure=pure):
        made = bb.emit(output) if isinstance(output, relax.Expr) else output(bb)
        bb.emit_func_output(made)
    return bb


def test_operators_tuples_and_constants() -> None:
    bb = build(relax.Tuple([op.add(X, relax.const(1.0)), relax.ShapeExpr([N, N * 2])]))
    total, shape = interp.run(bb.get(), DATA)
    np.testing.assert_array_equal(total, DATA + 1)
    assert shape == (3, 6)
    assert isinstance(shape, interp.Shape)


def test_kernels_write_new_arrays() -> None:
    def body(bb: relax.BlockBuilder) -> relax.Var:
        return bb.emit_te(lambda a: te.compute(a.shape, lambda i, j: a[i, j] * 3.0), X)

    np.testing.assert_array_equal(interp.run(build(body).get(), DATA), DATA * 3)


def test_kernel_in_place_leaves_the_operand() -> None:
    a = te.placeholder((2,), name="A")
    b = te.compute((2,), lambda i: a[i] + 1.0, name="B")
    kernel = te.create_prim_func([a, b])
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    info = x.struct_info
    bb = relax.BlockBuilder()
    gvar = bb.add_func(kernel, "k")
    with bb.function("main", [x]):
        zeros = op.zeros((2,), "float32")
        out = bb.emit(op.call_tir_inplace(gvar, [x, zeros], 1, info))
        bb.emit_func_output((x, out))
    x_after, out_value = interp.run(bb.get(), np.float32([1, 2]))
    np.testing.assert_array_equal(x_after, [1, 2])
    np.testing.assert_array_equal(out_value, [2, 3])


@pytest.mark.parametrize(("flag", "expected"), [(True, 2.0), (False, -1.0)])
def test_branches(flag: bool, expected: float) -> None:
    cond = relax.Var("c", relax.TensorStructInfo((), "bool"))
    x = relax.Var("x", relax.TensorStructInfo((), "float32"))
    bb = build(relax.If(cond, op.add(x, x), op.negative(x)), cond, x)
    assert float(interp.run(bb.get(), np.asarray(flag), np.float32(1))) == expected


def test_recursion_through_the_module() -> None:
    n = relax.Var("n", relax.TensorStructInfo((), "int64"))
    own = relax.GlobalVar("main", relax.FuncStructInfo([n.struct_info], n.struct_info))
    one = relax.const(1, "int64")
    bb = relax.BlockBuilder()
    with bb.function("main", [n]):
        small = bb.emit(op.less_equal(n, one))
        rest = op.multiply(n, relax.Call(own, [op.subtract(n, one)]))
        bb.emit_func_output(bb.emit(relax.If(small, one, rest)))
    mod = bb.get()
    assert int(interp.run(mod, np.int64(5))) == 120


def test_local_function_sees_what_is_around_it() -> None:
    y = relax.Var("y", relax.TensorStructInfo((N, 2), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [X]):
        bb.begin_scope([y])
        bb.begin_binding_block()
        inner = bb.emit(op.add(X, y))
        local = relax.Function([y], relax.SeqExpr([bb.end_block()], inner), y.struct_info)
        bb.end_scope()
        f = bb.emit(local)
        bb.emit_func_output(bb.emit(relax.Call(f, [X])))
    np.testing.assert_array_equal(interp.run(bb.get(), DATA), DATA * 2)


def test_closures() -> None:
    x = relax.Var("x", relax.TensorStructInfo((), "float32"))
    y = relax.Var("y", x.struct_info)
    bb = relax.BlockBuilder()
    with bb.function("lifted", [x, y], private=True):
        bb.emit_func_output(bb.emit(op.subtract(x, y)))
    lifted = bb.get().get_global_var("lifted")
    z = relax.Var("z", x.struct_info)
    with bb.function("main", [z], pure=False):
        clo = bb.emit(op.make_closure(lifted, [relax.const(10.0)]))
        bb.emit_func_output(bb.emit(op.invoke_closure(clo, [z], x.struct_info)))
    assert float(interp.run(bb.get(), np.float32(1))) == -9.0


def test_packed_functions_given_by_name() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))

    def write(a: np.ndarray, out: np.ndarray) -> None:
        out[:] = a + 5

    bb = build(
        lambda bb: bb.emit(
            relax.Tuple([
                bb.emit(op.call_dps_packed("write", [x], x.struct_info)),
                bb.emit(op.call_pure_packed("plus", x, x, sinfo_args=x.struct_info)),
            ])
        ),
        x,
    )  # fmt: skip
    run = Interpreter(bb.get(), {"write": write, "plus": np.add})
    written, added = run.run("main", np.float32([1, 2]))
    np.testing.assert_array_equal(written, [6, 7])
    np.testing.assert_array_equal(added, [2, 4])
    with pytest.raises(TVMError, match="there is no packed function 'write'"):
        interp.run(bb.get(), np.float32([1, 2]))


def test_print_and_assert(capsys: pytest.CaptureFixture[str]) -> None:
    x = relax.Var("x", relax.TensorStructInfo((), "int32"))

    def body(bb: relax.BlockBuilder) -> relax.Var:
        bb.emit(op.print(x, format="x is {}"))
        bb.emit(op.assert_op(op.less(x, relax.const(5)), [x], "x is {}, not below 5"))
        return bb.emit(x)

    mod = build(body, x, pure=False).get()
    interp.run(mod, np.int32(3))
    assert capsys.readouterr().out == "x is 3\n"
    with pytest.raises(AssertionFailed, match="Assertion Failed: x is 7, not below 5"):
        interp.run(mod, np.int32(7))


class TestChecks:
    def test_parameters(self) -> None:
        mod = build(op.exp(X)).get()
        with pytest.raises(DTypeError, match="the dtype of parameter 'x' does not fit") as err:
            interp.run(mod, DATA.astype("float64"))
        assert "found: an array of shape (3, 2) and dtype float64" in str(err.value)
        with pytest.raises(ShapeError, match="the number of dimensions of parameter 'x'"):
            interp.run(mod, DATA[0])
        with pytest.raises(ShapeError, match="the shape of parameter 'x'"):
            interp.run(mod, DATA[:, :1])
        with pytest.raises(TVMError, match="wrong number of arguments"):
            interp.run(mod)
        with pytest.raises(DTypeError, match="the kind of parameter 'x'"):
            interp.run(mod, (1, 2))

    def test_one_symbol_in_two_parameters(self) -> None:
        y = relax.Var("y", relax.TensorStructInfo((N, N * 2), "float32"))
        mod = build(op.exp(X), X, y).get()
        interp.run(mod, DATA, np.zeros((3, 6), "float32"))
        with pytest.raises(ShapeError, match=r"where n \* T\.int64\(2\) is 6"):
            interp.run(mod, DATA, np.zeros((3, 5), "float32"))

    def test_casts(self) -> None:
        x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=2))
        m = tir.Var("m", "int64")

        def body(bb: relax.BlockBuilder) -> relax.Var:
            y = bb.match_cast(x, relax.TensorStructInfo((m, m), "float32"))
            return bb.emit(op.exp(y))

        mod = build(body, x).get()
        interp.run(mod, np.zeros((2, 2), "float32"))
        with pytest.raises(ShapeError, match="the cast to 'gv'"):
            interp.run(mod, np.zeros((2, 3), "float32"))

    def test_unknown_names(self) -> None:
        with pytest.raises(Exception, match="Cannot find global var 'f'"):
            Interpreter(build(op.exp(X)).get()).run("f")

    def test_operator_without_meaning(self) -> None:
        mod = build(op.ccl.allreduce(X)).get()
        with pytest.raises(TVMError, match=r"relax\.ccl\.allreduce has no meaning in numpy"):
            interp.run(mod, DATA)


def test_a_long_function_runs() -> None:
    x = relax.Var("x", relax.TensorStructInfo((), "float32"))

    def body(bb: relax.BlockBuilder) -> relax.Var:
        y = x
        for _ in range(3000):
            y = bb.emit(op.add(y, x))
        return y

    assert float(interp.run(build(body, x).get(), np.float32(1))) == 3001.0


def test_values_are_described() -> None:
    assert interp.describe(DATA) == "an array of shape (3, 2) and dtype float32"
    assert interp.describe(3) == "3"
    assert interp.describe((1,)) == "a tuple"


def test_registered_functions_write_into_results_and_operands() -> None:
    @register_global_func("test.interp.doubled", override=True)
    def doubled(x: Any, out: Any) -> None:
        out.copyfrom(x.numpy() * 2)

    @register_global_func("test.interp.grown", override=True)
    def grown(x: Any) -> Any:
        x.copyfrom(x.numpy() + 1)
        return x

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.call_dps_packed("test.interp.doubled", (x,), R.Tensor((3,), "float32"))
        _ = R.call_inplace_packed(
            "test.interp.grown", y, inplace_indices=[0], sinfo_args=[R.Tensor((3,), "float32")]
        )
        return y

    x = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(interp.run(main, x), 2 * x + 1)


@pytest.mark.parametrize("make", [
    lambda i: op.take(X, i, 0), lambda i: op.gather_elements(X, i, 0),
    lambda i: op.scatter_elements(X, i, X, 0), lambda i: op.index_tensor(X, [i]),
])  # fmt: skip
def test_indices_outside_are_told_as_compiled_programs_do(make: Any) -> None:
    places = relax.const(np.full((3, 2), 7, "int64"))
    with pytest.raises(BoundsError, match=r"an index of relax\.\w+\n  found: index 7"):
        interp.run(build(make(places)).get(), DATA)
