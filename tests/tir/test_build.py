import numpy as np
import pytest

import tvm
from tvm.error import TargetError, TVMError
from tvm.ir.module import IRModule
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.build import build, split_host_device_mods
from tvm.tir.pipeline import default_tir_pipeline
from tvm.tir.transform import BindTarget


@T.prim_func
def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] * 2.0


@pytest.mark.cpu
@pytest.mark.parametrize("target", [None, "llvm", Target("llvm")])
@pytest.mark.parametrize("pipeline", ["default", None, default_tir_pipeline()])
def test_builds_a_function(target, pipeline):
    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    build(double, target, pipeline)["double"](a, b)
    np.testing.assert_array_equal(b, a * 2)


@pytest.mark.cpu
def test_builds_a_module_and_calls_its_entry():
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            for i in range(4):
                A[i] = A[i] + 1.0

    a = np.zeros(4, "float32")
    tvm.tir.build(Module)(a)
    np.testing.assert_array_equal(a, np.ones(4))


@pytest.mark.cpu
def test_target_of_the_context():
    with Target("llvm"):
        assert build(double) is not None


@pytest.mark.pure
def test_splits_by_target():
    cuda = Target("cuda", host="llvm")
    mod = IRModule({"a": double, "b": double.with_attr("target", cuda)})
    host, devices = split_host_device_mods(BindTarget("llvm")(mod))
    assert [v.name_hint for v in host.get_global_vars()] == ["a"]
    assert [[v.name_hint for v in m.get_global_vars()] for m in devices.values()] == [["b"]]


@pytest.mark.pure
@pytest.mark.parametrize(
    ("mod", "target", "kind", "words"),
    [
        (3, "llvm", TypeError, "found: int"),
        (IRModule({}), "llvm", TVMError, "a module without a PrimFunc"),
        (double, "lvm", TargetError, "llvm"),
    ],
)
def test_rejects(mod, target, kind, words):
    with pytest.raises(kind, match=words):
        build(mod, target)


@pytest.mark.cpu
def test_tensors_of_one_element_broadcast():
    @T.prim_func
    def add(a: T.handle, b: T.handle, c: T.handle):
        n, m, p, q = T.int32(), T.int32(), T.int32(), T.int32()
        A = T.match_buffer(a, (n, m))
        B = T.match_buffer(b, (p, q), buffer_type="auto")
        C = T.match_buffer(c, (n, m))
        for i, j in T.grid(n, m):
            C[i, j] = A[i, j] + B[i, j]

    built = build(add, "llvm")["add"]
    a = np.arange(12, dtype="float32").reshape(3, 4)
    for run in (built, lambda *args: tvm.tir.interp.run(add, *args)):
        for shape in ((3, 4), (3, 1), (1, 4), (1, 1)):
            b = np.arange(1, 1 + np.prod(shape), dtype="float32").reshape(shape)
            c = np.zeros_like(a)
            run(a, b, c)
            np.testing.assert_array_equal(c, a + b, str(shape))
