"""Calls by name: to functions of the module, of what it imports, and of the registry."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm.ffi import register_global_func, remove_global_func
from tvm.runtime import Module, load_module, tensor
from tvm.runtime.linker import get_cc
from tvm.script import tir as T
from tvm.tir.interp import run as interpret

pytestmark = pytest.mark.cpu
BY_C = pytest.param("c", marks=pytest.mark.skipif(get_cc() is None, reason="no C compiler"))
both = pytest.mark.parametrize("target", ["llvm", BY_C])


@T.prim_func
def caller(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    T.func_attr({"global_symbol": "main"})
    T.call_packed("testing_add", A, B)


def adder(amount: float):
    @T.prim_func
    def add(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "testing_add"})
        for i in range(4):
            with T.block("add"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + T.float32(amount)

    return add


def compiled(func, target: str) -> Module:
    return tvm.compile(tvm.IRModule({"main": func}), target=target).mod


def result(module: Module) -> list[float]:
    given, out = tensor(np.arange(4, dtype="float32")), tensor(np.zeros(4, "float32"))
    module["main"](given, out)
    return list(out.numpy() - given.numpy())


@pytest.fixture
def registered():
    register_global_func("testing_add", lambda a, b: b.copyfrom(a.numpy() + 9) and None)
    yield
    remove_global_func("testing_add")


@both
def test_a_function_of_an_import(target: str) -> None:
    module = compiled(caller, target)
    module.import_module(compiled(adder(5), "llvm"))
    assert result(module) == [5] * 4


def test_an_import_that_is_no_module() -> None:
    with pytest.raises(TypeError, match=r"import_module\s+found: int"):
        Module().import_module(3)  # type: ignore[arg-type]


@both
def test_an_import_of_an_import(target: str) -> None:
    module, between = compiled(caller, target), Module()
    between.import_module(compiled(adder(6), "llvm"))
    module.import_module(between)
    assert result(module) == [6] * 4


@both
def test_the_function_outlives_its_module(target: str) -> None:
    module = compiled(caller, target)
    module.import_module(compiled(adder(5), target))
    func = module["main"]
    del module
    gc.collect()
    given, out = tensor(np.zeros(4, "float32")), tensor(np.zeros(4, "float32"))
    for _ in range(2):
        func(given, out)
    assert list(out.numpy()) == [5] * 4


@both
@pytest.mark.usefixtures("registered")
def test_imports_come_before_the_registry(target: str) -> None:
    assert result(compiled(caller, target)) == [9] * 4
    module = compiled(caller, target)
    module.import_module(compiled(adder(2), target))
    assert result(module) == [2] * 4


@both
def test_a_name_that_nobody_has(target: str) -> None:
    with pytest.raises(RuntimeError, match=r"calls function 'testing_add', which is not"):
        result(compiled(caller, target))


def test_an_error_of_an_import_arrives() -> None:
    def fail(a: object, b: object) -> None:
        raise RuntimeError("on purpose")

    class Failing(Module):
        def _find(self, name: str):
            return fail if name == "testing_add" else None

    module = compiled(caller, "llvm")
    module.import_module(Failing())
    with pytest.raises(RuntimeError, match="on purpose"):
        result(module)


@both
@pytest.mark.skipif(get_cc() is None, reason="no C compiler")
@pytest.mark.parametrize("suffix", [".so", ".o", ".tar"])
def test_in_an_exported_file(target: str, suffix: str, tmp_path: Path) -> None:
    whole, alone = compiled(caller, target), compiled(caller, target)
    whole.import_module(compiled(adder(7), target))
    whole.export_library(tmp_path / f"whole{suffix}")
    assert result(load_module(tmp_path / f"whole{suffix}")) == [7] * 4
    alone.export_library(tmp_path / f"alone{suffix}")
    loaded = load_module(tmp_path / f"alone{suffix}")
    loaded.import_module(compiled(adder(3), "llvm"))
    assert result(loaded) == [3] * 4


@both
def test_an_unloaded_module_goes_away(target: str) -> None:
    import weakref

    module = compiled(caller, target)
    module.import_module(compiled(adder(5), target))
    assert result(module) == [5] * 4
    gone = weakref.ref(module.imports[0])
    del module
    gc.collect()
    assert gone() is None


def test_the_interpreter_finds_functions_of_the_module() -> None:
    mod = tvm.IRModule({"main": caller, "other": adder(4)})
    given, out = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    interpret(mod, given, out)
    np.testing.assert_array_equal(out, given + 4)


@T.prim_func
def traced(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), n: T.int32):
    T.func_attr({"global_symbol": "main"})
    for i in range(4):
        B[i] = T.trace([i, A[i]], "testing.trace") + T.Cast(
            "float32", T.trace([n], "testing.trace_integer")
        )


@pytest.mark.parametrize("answer", [None, 10.0])
@pytest.mark.parametrize("target", ["interpreter", "llvm", BY_C])
def test_traced_values_stay_unless_the_function_gives_others(target: str, answer) -> None:
    seen: list[tuple[int, float]] = []
    register_global_func("testing.trace", lambda *a: seen.append(a) or answer, override=True)
    register_global_func("testing.trace_integer", lambda n: None, override=True)
    given, out = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    if target == "interpreter":
        interpret(traced, given, out, 3)
    else:
        given, out = tensor(given), tensor(out)
        compiled(traced, target)["main"](given, out, 3)
        given, out = given.numpy(), out.numpy()
    np.testing.assert_array_equal(out, (given if answer is None else answer) + 3)
    assert seen == [(i, float(i)) for i in range(4)]


def test_the_default_action_prints(capsys: pytest.CaptureFixture[str]) -> None:
    @T.prim_func
    def func(A: T.Buffer((2,), "int32")):
        T.func_attr({"global_symbol": "main"})
        for i in range(2):
            A[i] = T.trace([i, A[i]])

    out = tensor(np.array([5, 6], "int32"))
    compiled(func, "llvm")["main"](out)
    assert capsys.readouterr().out == "[0, 5]\n[1, 6]\n"
    assert list(out.numpy()) == [5, 6]
