import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.tir import interp

pytestmark = pytest.mark.cpu
BASES = (0, 1, 2, 3, 5, 7, 10, 127, 3, 3, 7, 2)
POWERS = (0, 9, 7, 4, 3, 11, 9, 2, 39, 20, 13, 63)


def function(dtype, power=None, lanes=1):
    """out = a ** b, or a ** power."""
    a, b, out = (tir.decl_buffer((12,), dtype, name) for name in ("a", "b", "out"))
    i = tir.Var("i", "int32")
    value = tir.pow(a[i], b[i] if power is None else tir.const(power, dtype))
    kind = tir.ForKind.VECTORIZED if lanes > 1 else tir.ForKind.SERIAL
    loop = tir.For(i, 0, 12, kind, tir.BufferStore(out, value, [i]))
    handles = [tir.Var(name, "handle") for name in ("pa", "pb", "po")]
    func = tir.PrimFunc(handles, loop, None, dict(zip(handles, (a, b, out))))
    return func.with_attr("global_symbol", "main")


def wrapped(base, power, dtype):
    """What the type holds of the exact number."""
    info = np.iinfo(dtype)
    exact = 0 if power < 0 else base**power
    return (exact - info.min) % (1 << info.bits) + info.min


@pytest.mark.covering(1)
@pytest.mark.parametrize("lanes", [1, 12])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_exact_in_all_ways(dtype, lanes):
    signs = [1, -1] if dtype.startswith("int") else [1]
    for sign in signs:
        bases = np.array([sign * base for base in BASES], dtype)
        powers = np.array(POWERS, dtype)
        if sign < 0:
            powers[3] = -2
        wanted = [wrapped(int(a), int(b), dtype) for a, b in zip(bases, powers)]
        func, found = function(dtype, lanes=lanes), np.zeros(12, dtype)
        interp.run(func, bases, powers, found)
        assert found.tolist() == wanted
        for target in ("llvm", "llvm -opt-level=0", "c"):
            found[:] = 99
            tvm.compile(func, target=target)(bases, powers, found)
            assert found.tolist() == wanted, target


@pytest.mark.parametrize("power", [-1, 0, 2, 5, 39])
def test_known_powers(power):
    bases, powers = np.array(BASES, "int64"), np.zeros(12, "int64")
    for target in ("llvm", "c"):
        found = np.zeros(12, "int64")
        tvm.compile(function("int64", power), target=target)(bases, powers, found)
        assert found.tolist() == [wrapped(base, power, "int64") for base in BASES], target
