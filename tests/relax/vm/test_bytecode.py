"""Bytecode: branches, recursion, packed functions, sizes, closures, tuples, and its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.programs import arguments, as_arrays, assert_same, run_compiled, run_interp
from tvm import relax
from tvm.error import DTypeError, ShapeError, TVMError
from tvm.ir import IRModule
from tvm.relax.vm.bytecode import compile_bytecode
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


def _machine(mod: IRModule, **options: Any) -> relax.VirtualMachine:
    return relax.VirtualMachine(relax.build(mod, "llvm", **options), tvm.cpu())


def check(mod: IRModule, *args: Any, name: str = "main") -> Any:
    """The result of the bytecode, which must be what the program means."""
    found = run_compiled(mod, args, "bytecode", name)
    assert_same(run_interp(mod, args, name), found)
    return found


X = np.linspace(-2, 2, 4, dtype="float32")


# --- control ---


@I.ir_module
class Branches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
        y = R.exp(x)
        if c:
            a = R.add(y, x)
            r = R.add(a, x)
        else:
            r = R.nn.relu(y)
        z = R.negative(r)
        return z


@pytest.mark.parametrize("taken", [True, False])
def test_branches(taken: bool) -> None:
    check(Branches, np.array(taken), X)


def test_branches_run_beside_native_code() -> None:
    """What native code cannot say runs as bytecode in a compiled executable."""
    for taken in (True, False):
        args = [np.array(taken), X]
        assert_same(run_interp(Branches, args), run_compiled(Branches, args, "compiled"))


def test_branches_nest() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(c: R.Tensor((), "bool"), d: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            if c:
                if d:
                    r1 = R.exp(x)
                else:
                    r1 = R.negative(x)
                r = R.add(r1, x)
            else:
                r = x
            return r

    for c in (True, False):
        for d in (True, False):
            check(Mod, np.array(c), np.array(d), X)


def test_recursion() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(n: R.Tensor((), "int32"), x: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            stop = R.less_equal(n, R.const(0, "int32"))
            if stop:
                r = x
            else:
                m = R.subtract(n, R.const(1, "int32"))
                y = R.multiply(x, R.const(2, "float32"))
                r = Mod.main(m, y)
            return r

    found = check(Mod, np.array(5, "int32"), X)
    np.testing.assert_allclose(found, X * 32)


def test_functions_call_each_other() -> None:
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def twice(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.add(x, x)
            return y

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = Mod.twice(x)
            z = Mod.twice(y)
            return z

    check(Mod, X)


# --- packed functions ---


def test_packed_functions() -> None:
    seen = []

    @tvm.register_global_func("test.bytecode.double", override=True)
    def double(x: Any) -> Any:
        seen.append(x.shape)
        return tvm.runtime.tensor(x.numpy() * 2)

    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            y = R.call_packed("test.bytecode.double", x, sinfo_args=R.Tensor((4,), "float32"))
            z = R.call_pure_packed("test.bytecode.double", y,
                                   sinfo_args=R.Tensor((4,), "float32"))
            return z

    found = run_compiled(Mod, [X], "bytecode")
    np.testing.assert_allclose(found, X * 4)
    assert len(seen) == 2


def test_destination_passing_packed_functions() -> None:
    @tvm.register_global_func("test.bytecode.negate_into", override=True)
    def negate_into(x: Any, out: Any) -> None:
        out.copyfrom(-x.numpy())

    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            y = R.call_dps_packed("test.bytecode.negate_into", (x,), R.Tensor((n,), "float32"))
            return y

    np.testing.assert_allclose(run_compiled(Mod, [X], "bytecode"), -X)


def test_strings_types_and_numbers_are_passed() -> None:
    seen: list[Any] = []

    @tvm.register_global_func("test.bytecode.look", override=True)
    def look(*args: Any) -> int:
        seen.extend(args)
        return 0

    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def main(x: R.Tensor(("n",), "float32")):
            n = T.int64()
            r = R.call_packed("test.bytecode.look", R.str("word"), R.dtype("float16"),
                              R.prim_value(7), R.prim_value(2.5), R.prim_value(n + 1),
                              R.shape([n, 3]), sinfo_args=R.Object)
            return r

    run_compiled(Mod, [X], "bytecode")
    assert seen[0] == "word"
    assert str(seen[1]) == "float16"
    assert [seen[2], seen[3], seen[4]] == [7, 2.5, 5]
    assert tuple(seen[5]) == (4, 3)


def test_a_packed_function_that_is_not_there() -> None:
    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            y = R.call_packed("test.bytecode.no_such_function", x, sinfo_args=R.Object)
            return y

    with pytest.raises((TVMError, ValueError), match=r"test\.bytecode\.no_such_function"):
        run_compiled(Mod, [X], "bytecode")


# --- sizes ---


@I.ir_module
class Cast:
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32"), y: R.Tensor(("k",), "float32")):
        n, k = T.int64(), T.int64()
        a = R.match_cast(x, R.Tensor((n, k), "float32"))
        b = R.exp(a)
        return b


def test_match_cast_binds_sizes() -> None:
    check(Cast, np.ones((3, 4), "float32"), X)


def test_a_cast_that_fails_names_function_and_variable() -> None:
    vm = _machine(Cast)
    with pytest.raises(ShapeError) as caught:
        vm["main"](np.ones((3, 5), "float32"), X)
    text = str(caught.value)
    assert "match_cast, fn=main, var=a" in text
    assert "extent 1 is 5" in text
    assert "(_, 4)" in text


@pytest.mark.parametrize(
    ("args", "kind", "words"),
    [
        ((np.ones(4, "float32"), X), ShapeError, ["fn=main", "param=x", "(4,)", "ndim 2"]),
        ((np.ones((3, 4), "float64"), X), DTypeError, ["fn=main", "param=x", "float64", "float32"]),
        (("text", X), TypeError, ["fn=main", "param=x", "str", "a Tensor"]),
    ],
)
def test_wrong_parameters_name_function_and_parameter(
    args: tuple[Any, ...], kind: Any, words: list[str]
) -> None:
    with pytest.raises(kind) as caught:
        _machine(Cast)["main"](*args)
    for word in words:
        assert word in str(caught.value)


def test_a_wrong_number_of_arguments() -> None:
    with pytest.raises((TVMError, TypeError), match="main"):
        _machine(Cast)["main"](X)


def test_expressions_over_sizes() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", "m"), "float32")):
            n, m = T.int64(), T.int64()
            y = R.reshape(x, R.shape([n * m]))
            z = R.concat((y, y), axis=0)
            s = R.shape_to_tensor(R.shape([n * m + 1, n // 2]))
            return (z, s)

    found = check(Mod, np.ones((6, 5), "float32"))
    assert found[1].tolist() == [31, 3]


def test_sizes_learnt_in_a_branch_stay_there() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor(ndim=1, dtype="float32")):
            if c:
                n = T.int64()
                a = R.match_cast(x, R.Tensor((n,), "float32"))
                r = R.exp(a)
            else:
                m = T.int64()
                b = R.match_cast(x, R.Tensor((m,), "float32"))
                r = R.negative(b)
            return r

    for taken in (True, False):
        found = run_compiled(Mod, [np.array(taken), X], "bytecode")
        np.testing.assert_allclose(found, np.exp(X) if taken else -X, rtol=1e-6)


def test_shapes_are_values() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(s: R.Shape(["n", "m"]), x: R.Tensor(ndim=1, dtype="float32")):
            t = R.shape_of(x)
            return (s, t)

    found = run_compiled(Mod, [tvm.runtime.ShapeTuple([3, 4]), X], "bytecode")
    assert [tuple(one) for one in found] == [(3, 4), (4,)]


def test_a_tensor_read_as_shape() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((6,), "float32"), s: R.Tensor((2,), "int64")):
            n, m = T.int64(), T.int64()
            t: R.Shape(ndim=2) = R.tensor_to_shape(s)
            u = R.match_cast(t, R.Shape([n, m]))
            y = R.reshape(x, R.shape([n, m]))
            return y

    found = run_compiled(Mod, [np.arange(6, dtype="float32"), np.array([2, 3])], "bytecode")
    assert found.shape == (2, 3)


def test_numbers_as_parameters() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(p: R.Prim(value="k"), x: R.Tensor((4,), "float32")):
            k = T.int64()
            y = R.zeros(R.shape([k]), "float32")
            return y

    assert run_compiled(Mod, [3, X], "bytecode").shape == (3,)


# --- tuples and closures ---


def test_tuples_nest() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"),
                            R.Tuple(R.Tensor((4,), "float32"), R.Tensor((2,), "float32")))):
            a = t[1]
            b = a[0]
            c = t[0]
            d = R.add(b, c)
            r = ((d, a), c)
            return r

    args = arguments(Mod["main"])
    found = run_compiled(Mod, args, "bytecode")
    assert_same(run_interp(Mod, args), found)


def test_a_tuple_of_another_size_is_refused() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            a = t[0]
            b = R.exp(a)
            return b

    with pytest.raises(ShapeError, match=r"param=t.* 2 elements"):
        run_compiled(Mod, [(X,)], "bytecode")


def test_closures_hold_the_last_parameters() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def inner(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")
                  ) -> R.Tensor((4,), "float32"):
            s = R.subtract(x, y)
            return s

        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            f = R.make_closure(Mod.inner, (x,))
            r = R.invoke_closure(f, (y,), sinfo_args=R.Tensor((4,), "float32"))
            return r

    args = [X, X * 3]
    found = run_compiled(Mod, args, "bytecode")
    np.testing.assert_allclose(found, X * 3 - X)
    assert_same(run_interp(Mod, args), found)


def test_local_functions() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32"), k: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            @R.function
            def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                s = R.subtract(y, k)
                return s

            z = inner(x)
            w = inner(z)
            return w

    check(Mod, X, X * 5)


# --- the code itself ---


def test_equal_constants_are_kept_once() -> None:
    shared = relax.const(np.arange(4, dtype="float32"))
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(relax.Tuple([shared, shared]))
    program = compile_bytecode(bb.get(), [bb.get().get_global_var("main")])
    assert len(program.tensors) == 1


def test_only_called_functions_are_compiled() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def alone(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return x

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return x

    program = compile_bytecode(Mod, [Mod.get_global_var("main")])
    assert [f.name for f in program.bytecode.functions] == ["main"]


def test_refuses_operators_that_have_no_kernel() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.exp(x)
            return y

    with pytest.raises(TVMError) as caught:
        compile_bytecode(Mod, [Mod.get_global_var("main")])
    assert str(caught.value) == (
        "main: operator relax.exp has no code of its own; legalize it first "
        "(tvm.relax.transform.LegalizeOps)"
    )


def test_text_and_statistics() -> None:
    executable = relax.build(Branches, "llvm")
    text = executable.as_text()
    assert "@main" in text
    assert "if" in text.lower()
    assert "main" in executable.as_python()
    assert "main" in executable.stats()


def test_results_of_a_long_chain_of_bindings() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with bb.function("main", [x]):
        value: Any = x
        for _ in range(300):
            value = bb.emit(relax.op.add(value, x))
        bb.emit_func_output(value)
    np.testing.assert_allclose(as_arrays(_machine(bb.get())["main"](X)), X * 301, rtol=1e-5)
