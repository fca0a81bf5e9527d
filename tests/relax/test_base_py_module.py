"""BasePyModule: Python functions beside kernels, graphs and registered functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax, tir
from tvm.ir import IRModule
from tvm.relax import BasePyModule
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@tvm.register_global_func("test.base_py_module.scale", override=True)
def _scale(x: Any, factor: float, out: Any) -> None:
    out.copyfrom(x.numpy() * factor)


@I.ir_module
class Module(BasePyModule):
    @I.pyfunc
    def main(self, x, w):
        n = x.shape[0]
        y = self.call_tir(self.matmul, [x, w], R.Tensor((n, 5), "float32"))
        z = self.call_dps_packed("test.base_py_module.scale", [y, 2.0],
                                 R.Tensor((n, 5), "float32"))
        return self.helper(z)

    @I.pyfunc
    def helper(x):
        return x if isinstance(x, tvm.runtime.Tensor) else x + 0

    @T.prim_func
    def matmul(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 4), "float32")
        B = T.match_buffer(b, (4, 5), "float32")
        C = T.match_buffer(c, (n, 5), "float32")
        for i, j, k in T.grid(n, 5, 4):
            with T.block("b"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] += A[vi, vk] * B[vk, vj]

    @R.function
    def graph(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        y = R.add(x, x)
        z = R.call_py_func("helper", (y,), out_sinfo=R.Tensor((n, 4), "float32"))
        return z


X = np.random.default_rng(0).uniform(size=(3, 4)).astype("float32")
W = np.random.default_rng(1).uniform(size=(4, 5)).astype("float32")


@pytest.fixture(scope="module")
def instance() -> BasePyModule:
    return Module(tvm.cpu())


def test_the_decorated_class_is_made_ready_by_a_call(instance: BasePyModule) -> None:
    assert isinstance(instance, BasePyModule)
    assert set(Module.pyfuncs) == {"main", "helper"}
    assert "matmul" in [var.name_hint for var in Module.get_global_vars()]
    assert isinstance(Module.create_instance(), BasePyModule)
    assert Module["matmul"] is Module.ir_module["matmul"]
    assert "graph" in Module
    assert instance.list_functions() == {
        "tir": ["matmul"], "relax": ["graph"], "extern": instance.list_functions()["extern"],
        "python": ["main", "helper"],
    }  # fmt: skip


def test_python_functions_call_kernels_and_registered_functions(instance: BasePyModule) -> None:
    np.testing.assert_allclose(instance.main(X, W).numpy(), X @ W * 2, rtol=1e-5)  # type: ignore[attr-defined]
    assert "test.base_py_module.scale" in instance.extern_funcs


def test_shapes_of_results_may_be_symbolic(instance: BasePyModule) -> None:
    for function in ("matmul", instance.matmul):  # type: ignore[attr-defined]
        found = instance.call_tir(function, [X, W], R.Tensor(("m", 5), "float32"))
        np.testing.assert_allclose(found.numpy(), X @ W, rtol=1e-5)
    found = instance.call_dps_packed("test.base_py_module.scale", [X, 3.0],
                                     R.Tensor(("n", "m"), "float32"))  # fmt: skip
    np.testing.assert_allclose(found.numpy(), X * 3)


def test_graphs_are_attributes_and_call_python_functions(instance: BasePyModule) -> None:
    np.testing.assert_allclose(instance.graph(X).numpy(), X * 2)  # type: ignore[attr-defined]


def test_kernels_are_attributes_that_write(instance: BasePyModule) -> None:
    out = tvm.runtime.empty((3, 5), "float32")
    instance.matmul(X, W, out)  # type: ignore[attr-defined]
    np.testing.assert_allclose(out.numpy(), X @ W, rtol=1e-5)


def test_functions_are_added_and_found(instance: BasePyModule) -> None:
    instance.add_python_function("thrice", lambda x: x * 3)
    assert instance.call_py_func("thrice", [2]) == 6
    assert instance.get_function("thrice") is not None
    assert instance.get_function("matmul") is instance.compiled_tir_funcs["matmul"]
    assert instance.get_function("nothing") is None
    with pytest.raises(TypeError, match="legal: a function"):
        instance.add_python_function("wrong", 3)  # type: ignore[arg-type]


def test_unknown_names_are_refused(instance: BasePyModule) -> None:
    info = R.Tensor((3, 5), "float32")
    with pytest.raises(ValueError, match=r"no TIR function of this name; did you mean 'matmul'"):
        instance.call_tir("matmu", [X, W], info)
    with pytest.raises(ValueError, match="no registered function of this name"):
        instance.call_dps_packed("test.base_py_module.none", [X], info)
    with pytest.raises(ValueError, match="no Python function of this name"):
        instance.call_py_func("nothing", [X])
    with pytest.raises(ValueError, match="without a name"):
        instance.call_tir(3, [X], info)
    with pytest.raises(ValueError, match="out_sinfo"):
        instance.call_tir("matmul", [X, W], R.Object())


def test_text(instance: BasePyModule, capsys: pytest.CaptureFixture[str]) -> None:
    text = instance.script()
    assert "@I.pyfunc" in text
    assert "def main(self, x, w):" in text
    assert "def matmul(" in text
    instance.show()
    assert "matmul" in capsys.readouterr().out


def test_plain_modules() -> None:
    @I.ir_module
    class Plain:
        @T.prim_func
        def twice(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
            for i in range(4):
                y[i] = x[i] * T.float32(2)

    made = BasePyModule(Plain, tvm.cpu(), tvm.target.Target("llvm"))
    assert made.tir_func_names == ["twice"]
    values = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(
        made.call_tir("twice", values, relax.TensorStructInfo((4,), "float32")).numpy(), values * 2
    )


def test_torch_tensors_come_back_as_torch_tensors(instance: BasePyModule) -> None:
    torch = pytest.importorskip("torch")
    x, w = torch.from_numpy(X), torch.from_numpy(W)
    found = instance.main(x, w)  # type: ignore[attr-defined]
    assert isinstance(found, torch.Tensor)
    assert torch.allclose(found, x @ w * 2)
    assert torch.allclose(instance.graph(x), x * 2)  # type: ignore[attr-defined]


def test_shapes_of_results_follow_arguments() -> None:
    module = BasePyModule(IRModule({}), tvm.cpu())
    n = tir.Var("n", "int64")
    infer = module._infer_concrete_shape_from_args
    assert infer([n, 4], [np.zeros((3, 4), "float32")]) == [3, 4]
    assert infer([5, 6], []) == [5, 6]
    with pytest.raises(ValueError, match="symbolic"):
        infer([n, 8], [])


def test_tensors_go_to_torch_and_back() -> None:
    torch = pytest.importorskip("torch")
    module = BasePyModule(IRModule({}), tvm.cpu())
    ours = module._convert_pytorch_to_tvm(torch.arange(3))
    assert isinstance(ours, tvm.runtime.Tensor)
    assert module._convert_tvm_to_pytorch([ours, ours])[1].tolist() == [0, 1, 2]


@pytest.mark.parametrize("how", ["add_python_function", "attribute"])
def test_a_function_of_the_instance_gives_its_result(how: str) -> None:
    instance = BasePyModule(IRModule({}), tvm.cpu())

    def halve(x: Any) -> Any:
        return x * 0.5

    if how == "attribute":
        instance.halve = halve
    else:
        instance.add_python_function("halve", halve)
    found = instance.call_dps_packed("halve", [X], R.Tensor(X.shape, "float32"))
    np.testing.assert_allclose(found, X * 0.5)


def test_a_list_of_one_result_is_that_result() -> None:
    info = relax.TensorStructInfo((4,), "float32")
    values = np.arange(4, dtype="float32")

    @I.ir_module
    class Mod:
        @T.prim_func
        def both(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"),
                 C: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = A[i] + T.float32(1)
                C[i] = A[i] * T.float32(2)

        @T.prim_func
        def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = A[i] * T.float32(2)

    made = BasePyModule(Mod, tvm.cpu())
    given = tvm.runtime.tensor(values)
    np.testing.assert_equal(made.call_tir("twice", [given], [info]).numpy(), values * 2)
    more, double = made.call_tir("both", [given], [info, info])
    np.testing.assert_equal(more.numpy(), values + 1)
    np.testing.assert_equal(double.numpy(), values * 2)
