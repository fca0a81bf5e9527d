"""PlainKernelNames: kernels are called as they were legalized."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.transform.plain_kernel_names import MADE_OF, PlainKernelNames
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Copies:
    @T.prim_func(private=True)
    def add1(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"made_of_kernel": "add"})
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] + T.float32(1)

    @T.prim_func(private=True)
    def exp_prepacked(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = T.exp(A[v])

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Copies
        y = R.call_tir(cls.add1, (x,), out_sinfo=R.Tensor((4,), "float32"))
        z = R.call_tir(cls.exp_prepacked, (y,), out_sinfo=R.Tensor((4,), "float32"))
        return z


def names(mod: tvm.IRModule) -> list[str]:
    return sorted(var.name_hint for var in mod.functions)


@pytest.mark.pure
def test_names_that_are_free_are_taken() -> None:
    found = PlainKernelNames()(Copies)
    assert names(found) == ["add", "exp", "main"]
    assert MADE_OF not in found["add"].attrs
    assert relax.analysis.well_formed(found)
    assert "R.call_tir(cls.add, (x,)" in found.script()
    assert PlainKernelNames()(found) is found


@pytest.mark.pure
def test_names_that_others_have_stay_theirs() -> None:
    other = Copies["exp_prepacked"].with_attr("global_symbol", "add")
    found = PlainKernelNames()(tvm.IRModule({**dict(Copies.functions.items()), "add": other}))
    assert names(found) == ["add", "add1", "exp", "main"]


def test_instruments_hear_the_names_of_operators() -> None:
    weight = np.ones((8, 8), "float32")

    @I.ir_module
    class Layer:
        @R.function
        def main(x: R.Tensor((1, 8), "float32"), w: R.Tensor((8, 8), "float32")):
            y = R.matmul(x, w)
            z = R.add(y, y)
            return z

    bound = relax.transform.BindParams("main", {"w": weight})(Layer)
    vm = relax.VirtualMachine(relax.build(bound, "llvm"), tvm.cpu())
    heard: list[str] = []

    def listen(func, name, before, result, *args):  # type: ignore[no-untyped-def]
        if before and not name.startswith("vm."):
            heard.append(name)

    vm.set_instrument(listen)
    vm["main"](tvm.runtime.tensor(weight[:1]))
    assert heard == ["matmul", "add"]
