import numpy as np
import pytest

import tvm
from tvm.script import tir as T


@T.prim_func
def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] * 2.0


@pytest.mark.cpu
def test_compiles_functions():
    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    tvm.compile(double, target="llvm")["double"](a, b)
    np.testing.assert_array_equal(b, a * 2)


@pytest.mark.cpu
def test_the_older_name_warns():
    with pytest.warns(DeprecationWarning, match="compile"):
        built = tvm.build(double)
    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    built["double"](a, b)
    np.testing.assert_array_equal(b, a * 2)


@pytest.mark.pure
def test_rejects_what_is_no_module():
    with pytest.raises(TypeError, match=r"tvm\.compile\s+found:\s+str\s+legal:\s+an IRModule"):
        tvm.compile("model.onnx")
