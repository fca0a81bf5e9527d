"""The functions that programs of tests call."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.ffi import get_global_func
from tvm.relax.testing.runtime_builtin import MakeShapeCode, MatchShapeCode
from tvm.relax.testing.vm import check_saved_func
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.cpu
A = np.array([[1.0, 2.0]], "float32")


def _call(name, *args):
    return get_global_func(f"test.vm.{name}")(*args)


def test_functions():
    a = tvm.runtime.tensor(A)
    assert _call("add", a, a).numpy().tolist() == [[2, 4]]
    assert _call("mul", a, a).numpy().tolist() == [[1, 4]]
    assert _call("subtract_one", a).numpy().tolist() == [[0, 1]]
    assert not bool(_call("equal_zero", a).numpy())
    assert _call("add_scalar", 2, 3) == 5
    assert _call("move", a).same_as(a)
    assert _call("check_if_defined", None) == 0
    assert _call("get_device_id", tvm.cpu(0)) == 0
    b, c = (tvm.runtime.empty((1, n), "float32") for n in (2, 4))
    _call("identity", a, b)
    _call("tile", a, c)
    assert b.numpy().tolist() == A.tolist()
    assert c.numpy().tolist() == [[1, 2, 1, 2]]


def test_saved_functions():
    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def foo(x: R.Tensor((1, 2), "float32")):
            z = R.call_packed("test.vm.add", x, x, sinfo_args=R.Tensor((1, 2), "float32"))
            return z

    vm = relax.VirtualMachine(relax.build(Mod, "llvm"), tvm.cpu())
    assert check_saved_func(vm, "foo", tvm.runtime.tensor(A)).numpy().tolist() == [[2, 4]]


def test_codes():
    assert [int(c) for c in MatchShapeCode] == [0, 1, 2, 3]
    assert [int(c) for c in MakeShapeCode] == [0, 1]
