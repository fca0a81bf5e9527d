"""What a function does last, and whether it is a loop."""

from __future__ import annotations

import numpy as np

from tvm import relax
from tvm.ir import IRModule
from tvm.relax.final_binding import bindings_within, final_binding, final_values, is_loop
from tvm.relax.interp import Interpreter
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Counting:
    @R.function(private=True)
    def down(n: R.Tensor((), "int64"), total: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        cls = Counting
        go = R.greater(n, R.const(0, "int64"))
        if go:
            less = R.subtract(n, R.const(1, "int64"))
            more = R.add(total, n)
            made = cls.down(less, more)
            r = made
        else:
            r = total
        return r

    @R.function
    def main(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        cls = Counting
        gv = cls.down(n, R.const(0, "int64"))
        return gv


@I.ir_module
class Nested:
    @R.function(private=True)
    def sums(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        cls = Nested
        go = R.greater(n, R.const(0, "int64"))
        if go:
            rest = cls.sums(R.subtract(n, R.const(1, "int64")))
            r = R.add(rest, n)
        else:
            r = R.const(0, "int64")
        return r

    @R.function
    def main(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        cls = Nested
        gv = cls.sums(n)
        return gv


def _function(mod: IRModule, name: str) -> relax.Function:
    func = mod[name]
    assert isinstance(func, relax.Function)
    return func


def test_names_behind_a_step_are_passed_over() -> None:
    body = _function(Counting, "down").body
    last = final_binding(body)
    assert last is not None
    assert isinstance(last.value, relax.If)
    inner = final_binding(last.value.true_branch)
    assert inner is not None
    assert isinstance(inner.value, relax.Call)
    assert len(list(final_values(body))) == 2
    assert len(list(bindings_within(body))) > 4


def test_a_loop_calls_itself_last() -> None:
    down, sums = Counting.get_global_var("down"), Nested.get_global_var("sums")
    assert is_loop(_function(Counting, "down"), down)
    assert not is_loop(_function(Nested, "sums"), sums)
    assert not is_loop(_function(Counting, "main"), Counting.get_global_var("main"))


def test_the_interpreter_does_not_nest_loops() -> None:
    count = 3000  # calls of Python within each other end at 1000
    found = Interpreter(Counting).run("main", np.array(count, "int64"))
    assert found == count * (count + 1) // 2
    assert Interpreter(Nested).run("main", np.array(9, "int64")) == 45
