"""Modules: order of functions, attributes, global infos, calls between functions."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.error import DiagnosticError, ScriptError
from tvm.ir import DummyGlobalInfo, IRModule, VDevice, assert_structural_equal
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.script.ir_builder import IRBuilder

pytestmark = pytest.mark.pure


@I.ir_module
class Module:
    I.module_attrs({"b": 1, "a": [1, "x"]})
    I.module_global_infos({"vdevice": [I.vdevice("c"), I.vdevice("webgpu", 1, "shared")]})

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = R.call_tir(cls.double, (x,), R.Tensor((4,), "float32"))
        return cls.helper(y)

    @R.function(private=True)
    def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.add(x, x)

    @T.prim_func
    def caller(n: T.int32) -> T.int32:
        return Module.callee(n) + 1

    @T.prim_func(private=True)
    def callee(n: T.int32) -> T.int32:
        return n * 2

    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * 2.0


TEXT = '''\
# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_attrs({"a": [1, "x"], "b": 1})
    I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "c", "tag": ""}, 0, "global"), I.vdevice({"keys": ["webgpu", "gpu"], "kind": "webgpu", "max_num_threads": 256, "tag": ""}, 1, "shared")]})
    @T.prim_func(private=True)
    def callee(n: T.int32) -> T.int32:
        return n * 2

    @T.prim_func
    def caller(n: T.int32) -> T.int32:
        return Module.callee(n) + 1

    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2.0)

    @R.function(private=True)
    def helper(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        gv: R.Tensor((4,), dtype="float32") = R.add(x, x)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        y = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((4,), dtype="float32"))
        gv1: R.Tensor((4,), dtype="float32") = cls.helper(y)
        return gv1'''  # noqa: E501 - lines are as long as what they say


def test_modules_print_in_order_and_read_back() -> None:
    assert Module.script() == TEXT
    assert_structural_equal(from_source(TEXT), Module)


def test_without_an_alias_the_class_is_named() -> None:
    assert "return Module.callee(n) + 1" in Module.script(module_alias="")


def test_calls_have_the_type_that_the_function_returns() -> None:
    call = Module["caller"].body.value.args[0].a
    assert (call.dtype, call.op.name_hint) == ("int32", "callee")


def test_words_of_modules_print_alone() -> None:
    assert str(DummyGlobalInfo()) == "I.dummy_global_info()"
    config = '{"keys": ["cpu"], "kind": "c", "tag": ""}'
    assert str(VDevice("c", 0, "global")) == f'I.vdevice({config}, 0, "global")'
    assert str(IRModule()).endswith("class Module:\n    pass")


def test_building_without_text() -> None:
    func = tir.PrimFunc([], tir.Evaluate(0))
    with IRBuilder() as ib, I.ir_module():
        var = I.decl_function("f", func)
        I.def_function("f", func)
        I.module_attrs({"k": 1})
        I.module_set_attr("l", 2)
        assert (I.module_get_attr("l"), I.module_get_attrs()) == (2, {"k": 1, "l": 2})
        with pytest.raises(ValueError, match="Duplicate module attr l"):
            I.module_set_attr("l", 3)
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda")]})
        assert I.lookup_vdevice("cuda", 0).target.kind.name == "cuda"
        with pytest.raises(ValueError, match="no vdevice 'metal' number 0"):
            I.lookup_vdevice("metal", 0)
    mod = ib.get()
    assert mod[var] is func
    assert list(mod.attrs.items()) == [("k", 1), ("l", 2)]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("    @T.prim_func\n    def f():\n        cls.g()\n", "Undefined variable: cls"),
        ("    @T.prim_func\n    def f():\n        M.g()\n", "Cannot find the function 'g'"),
        ("    def f():\n        pass\n", "Function must be decorated"),
        ("    x = y = 1\n", "Assign is only supported with one name"),
    ],
)
def test_mistakes_in_modules(body: str, wanted: str) -> None:
    with pytest.raises(DiagnosticError, match=wanted):
        from_source(f"@I.ir_module\nclass M:\n{body}")


def test_a_declared_function_needs_a_body() -> None:
    with IRBuilder(), pytest.raises(ScriptError, match="'f' is declared and never defined"):
        with I.ir_module():
            I.decl_function("f", tir.PrimFunc([], tir.Evaluate(0)))


def test_a_function_is_defined_once() -> None:
    func = tir.PrimFunc([], tir.Evaluate(0))
    with IRBuilder(), I.ir_module():
        with pytest.raises(ScriptError, match=r"f does not exist; legal: I\.decl_function first"):
            I.def_function("f", func)
        I.decl_function("f", func)
        I.def_function("f", func)
        for again in (I.def_function, I.decl_function):
            with pytest.raises(ScriptError, match="function f already exists"):
                again("f", func)
    with pytest.raises(DiagnosticError, match=r"function f already exists\n.*<str>:6:5"):
        from_source(
            "@I.ir_module\nclass M:\n"
            "    @T.prim_func\n    def f(): T.evaluate(0)\n"
            "    @R.function\n    def f(x: R.Object): return x\n"
        )


def test_only_classes_are_modules() -> None:
    with pytest.raises(TypeError, match="Expect a class"):
        I.ir_module(3)


def test_variables_avoid_the_name_of_the_module() -> None:
    var = tir.Var("Module", "int32")
    mod = IRModule({"main": tir.PrimFunc([var], tir.Evaluate(var))})
    assert "def main(Module_1: T.int32):" in mod.script()
    assert "def main(Module: T.int32):" in mod["main"].script()
