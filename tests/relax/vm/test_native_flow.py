"""Branches, functions and loops as native code, compared with what the program means."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.programs import assert_same, run_interp
from tvm import relax
from tvm.ir import IRModule
from tvm.relax.backend import cpu_generic
from tvm.relax.vm.native import native_graph
from tvm.relax.vm.native_flow import NotNative
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


def _graph(mod: IRModule) -> Any:
    lowered = cpu_generic.get_default_pipeline(tvm.target.Target("llvm")).graph(mod)
    return native_graph(lowered, lowered.get_global_var("main"), profile=True)


def _machine(mod: IRModule, mode: str) -> relax.VirtualMachine:
    return relax.VirtualMachine(relax.build(mod, "llvm", exec_mode=mode), tvm.cpu())


def check(mod: IRModule, *calls: tuple[Any, ...]) -> None:
    """Native code and bytecode give what the interpreter gives, for each list of arguments."""
    _graph(mod)
    machines = [_machine(mod, mode) for mode in ("compiled", "bytecode")]
    for args in calls:
        arrays = [np.asarray(arg) for arg in args]
        wanted = run_interp(mod, arrays)
        for machine in machines:
            assert_same(wanted, machine["main"](*[tvm.runtime.tensor(a) for a in arrays]))


def _reason(mod: IRModule) -> str:
    with pytest.raises(NotNative) as caught:
        _graph(mod)
    return str(caught.value)


_X = np.arange(4, dtype="float32")


def test_branches() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            y = R.exp(x)
            if c:
                a = R.add(y, x)
                r = R.sin(a)
            else:
                r = x
            z = R.add(r, y)
            return (z, r)

    check(Mod, (True, _X), (False, _X))


def test_branches_within_branches_give_tuples() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(c: R.Tensor((), "bool"), d: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            if c:
                if d:
                    s = (R.exp(x), x)
                else:
                    s = (x, R.sin(x))
                r = s
            else:
                r = (R.cos(x), R.tanh(x))
            a = r[0]
            b = r[1]
            z = R.subtract(a, b)
            return z

    check(Mod, *[(c, d, _X) for c in (True, False) for d in (True, False)])


def test_a_condition_on_sizes() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            c = R.prim_value(n > 3)
            if c:
                r = R.exp(x)
            else:
                r = R.negative(x)
            return r

    check(Mod, (_X,), (_X[:2],))


def test_functions_are_written_out_with_the_sizes_of_the_call() -> None:
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def twice(x: R.Tensor(("k", "k2"), "float32")) -> R.Tensor(("k", "k2"), "float32"):
            y = R.nn.softmax(x)
            z = R.add(y, x)
            return z

        @R.function
        def main(x: R.Tensor(("n", 2), "float32"), w: R.Tensor((2, 3), "float32")):
            cls = Mod
            a = cls.twice(x)
            b = R.matmul(a, w)
            c = cls.twice(b)
            return c

    w = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)
    check(Mod, (_X.reshape(2, 2), w), (np.ones((5, 2), "float32"), w))


# --- loops ---


@I.ir_module
class Fibonacci:
    """The state changes places: each turn needs both old values."""

    @R.function(private=True)
    def loop(
        n: R.Tensor((), "int64"), a: R.Tensor((2,), "int64"), b: R.Tensor((2,), "int64"),
        w: R.Tensor((2,), "int64"),
    ) -> R.Tuple(R.Tensor((2,), "int64"), R.Tensor((2,), "int64")):
        cls = Fibonacci
        go = R.greater(n, R.const(0, "int64"))
        if go:
            m = R.subtract(n, R.const(1, "int64"))
            c = R.add(R.add(a, b), w)
            r = cls.loop(m, b, c, w)
        else:
            r = (b, a)
        return r

    @R.function
    def main(n: R.Tensor((), "int64"), a: R.Tensor((2,), "int64"), w: R.Tensor((2,), "int64")):
        cls = Fibonacci
        r = cls.loop(n, a, a, w)
        x = r[0]
        y = r[1]
        z = R.add(x, a)
        return (z, y, a)


def test_the_state_changes_places() -> None:
    a, w = np.array([1, 3]), np.array([0, 2])
    check(Fibonacci, *[(np.array(n), a, w) for n in (0, 1, 2, 11)])


def test_many_turns_do_not_nest() -> None:
    a, w = np.array([0, 0]), np.array([0, 0])
    for mode, count in (("compiled", 10**5), ("bytecode", 3000)):
        machine = _machine(Fibonacci, mode)
        args = [tvm.runtime.tensor(x) for x in (np.array(count), a, w)]
        assert machine["main"](*args)[0].numpy().tolist() == [0, 0]


def test_profiles_have_a_line_for_a_loop() -> None:
    calls = [call.name for call in _graph(Fibonacci).calls]
    assert "loop" in calls
    args = [tvm.runtime.tensor(np.array(x)) for x in (5, [1, 3], [0, 2])]
    report = _machine(Fibonacci, "compiled").profile("main", *args)
    assert "loop" in str(report)


def test_laps_of_loops_stand_one_by_one() -> None:
    machine = _machine(Fibonacci, "compiled")
    args = [tvm.runtime.tensor(np.array(x)) for x in (5, [1, 3], [0, 2])]
    counts = [c["Count"].value for c in machine.profile("main", *args).calls]
    laps = machine.laps("main", *args)
    assert [sum(lap.number == n for lap in laps) for n in range(len(counts))] == counts
    assert max(counts) >= 5
    assert all(one.end_ns <= two.start_ns for one, two in pairwise(laps))


def test_several_ends() -> None:
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def loop(n: R.Tensor((), "int64"), x: R.Tensor((4,), "float32"),
                 limit: R.Tensor((), "float32")) -> R.Tensor((4,), "float32"):
            cls = Mod
            go = R.greater(n, R.const(0, "int64"))
            if go:
                y = R.add(x, x)
                big = R.greater(R.max(y), limit)
                if big:
                    s = R.negative(y)
                else:
                    s = cls.loop(R.subtract(n, R.const(1, "int64")), y, limit)
                r = s
            else:
                r = x
            return r

        @R.function
        def main(n: R.Tensor((), "int64"), x: R.Tensor((4,), "float32"),
                 limit: R.Tensor((), "float32")):
            cls = Mod
            y = R.exp(x)
            gv = cls.loop(n, y, limit)
            z = R.subtract(gv, y)
            return z

    check(Mod, *[(np.array(n), _X, np.float32(50)) for n in (0, 1, 5)])


def test_rows_are_written_in_place() -> None:
    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def put(rows: T.handle, x: T.Buffer((2,), "float32"), i: T.Buffer((), "int64")):
            n = T.int64()
            r = T.match_buffer(rows, (n, 2), "float32")
            for k in range(2):
                r[i[()], T.Cast("int64", k)] = x[k]

        @R.function(private=True)
        def loop(i: R.Tensor((), "int64"), x: R.Tensor((2,), "float32"),
                 rows: R.Tensor(("n", 2), "float32"), count: R.Tensor((), "int64")
                 ) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor(("n", 2), "float32")):
            n = T.int64()
            cls = Mod
            go = R.less(i, count)
            if go:
                y = R.add(x, x)
                w = R.call_tir_inplace(cls.put, (rows, y, i), inplace_indices=[0],
                                       out_sinfo=R.Tensor((n, 2), "float32"))
                r = cls.loop(R.add(i, R.const(1, "int64")), y, w, count)
            else:
                r = (x, rows)
            return r

        @R.function
        def main(x: R.Tensor((2,), "float32"), z: R.Tensor(("n",), "float32"),
                 count: R.Tensor((), "int64")):
            n = T.int64()
            cls = Mod
            rows = R.builtin.alloc_tensor(R.shape([n, 2]), R.dtype("float32"), R.prim_value(0))
            r = cls.loop(R.const(0, "int64"), x, rows, count)
            a = r[0]
            b = r[1]
            c = R.multiply(b, R.const(2, "float32"))
            return (a, c)

    check(Mod, *[(_X[1:3], np.zeros(n, "float32"), np.array(n)) for n in (1, 4, 9)])


def test_a_name_for_data_may_be_an_argument_of_kernels() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(i: R.Tensor((1,), "int64"), x: R.Tensor((4,), "float32")):
            k = T.int64()
            shape = R.tensor_to_shape(i)
            _ = R.match_cast(shape, R.Shape([k]))
            at: R.Tensor((), "int64") = R.full(R.shape([]), R.const(1, "int64"), "int64")
            part = R.strided_slice(x, axes=[0], begin=[k], end=[k + 1], assume_inbound=True)
            row = R.add(part, R.astype(at, "float32"))
            return row

    check(Mod, *[(np.array([k]), _X) for k in range(4)])


# --- what stays bytecode ---


def test_state_that_changes_its_size_is_not_native() -> None:
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def loop(n: R.Tensor((), "int64"), x: R.Tensor(("k",), "float32")
                 ) -> R.Tensor("float32", ndim=1):
            cls = Mod
            go = R.greater(n, R.const(0, "int64"))
            if go:
                y = R.concat([x, x], axis=0)
                r = cls.loop(R.subtract(n, R.const(1, "int64")), y)
            else:
                r = x
            return r

        @R.function
        def main(n: R.Tensor((), "int64"), x: R.Tensor((2,), "float32")):
            cls = Mod
            gv = cls.loop(n, x)
            return gv

    _reason(Mod)
    for mode in ("compiled", "bytecode"):
        found = _machine(Mod, mode)["main"](
            tvm.runtime.tensor(np.array(4)), tvm.runtime.tensor(_X[:2])
        )
        np.testing.assert_array_equal(found.numpy(), np.tile(_X[:2], 16))


def test_calls_before_the_end_are_not_native() -> None:
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def sums(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
            cls = Mod
            go = R.greater(n, R.const(0, "int64"))
            if go:
                rest = cls.sums(R.subtract(n, R.const(1, "int64")))
                r = R.add(rest, n)
            else:
                r = R.const(0, "int64")
            return r

        @R.function
        def main(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
            cls = Mod
            gv = cls.sums(n)
            return gv

    assert _reason(Mod) == "sums calls itself before its end"
    found = _machine(Mod, "compiled")["main"](tvm.runtime.tensor(np.array(20)))
    assert int(found.numpy()) == 210


def test_a_constant_is_not_overwritten() -> None:
    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def grow(x: T.Buffer((2,), "float32")):
            for k in range(2):
                x[k] = x[k] + T.float32(1)

        @R.function
        def main():
            cls = Mod
            gv = R.call_tir_inplace(cls.grow, (R.const([1.0, 2.0], "float32"),),
                                    inplace_indices=[0], out_sinfo=R.Tensor((2,), "float32"))
            return gv

    assert _reason(Mod) == "a constant is overwritten"
