"""The interpreter: loops, and values of every kind."""

from __future__ import annotations

import pytest

from tests.runtime.test_module import Table
from tvm.ffi import register_global_func, remove_global_func
from tvm.runtime import VirtualMachine
from tvm.runtime.artefact import Artefact
from tvm.runtime.bytecode import Bytecode, BytecodeFunction, Call, Const, Goto, If, Imm, Reg, Ret
from tvm.runtime.vm_executable import VMModule

pytestmark = pytest.mark.pure


def run(code: Bytecode, **functions: object) -> object:
    return VirtualMachine(VMModule(Artefact(bytecode=code), Table(**functions)))["main"]()


def test_loops() -> None:
    body = (
        Call(0, 0, (Imm(5),)),
        Call(1, 1, (Reg(0),)),
        If(1, 3),
        Call(0, 2, (Reg(0),)),
        Goto(-3),
        Ret(0),
    )
    code = Bytecode((BytecodeFunction("main", (), 2, body),), ("same", "positive", "less"))
    # the jump when r1 is false leads to the return
    assert run(code, same=lambda x: x, positive=lambda x: x > 2, less=lambda x: x - 1) == 2


def test_constants_of_every_kind() -> None:
    table = (1.5, [2, 3], {"dtype": "int8"}, "text", True)
    args = tuple(Const(i) for i in range(5))
    code = Bytecode((BytecodeFunction("main", (), 1, (Call(0, 0, args), Ret(0))),), ("all",), table)
    found = run(code, all=lambda *a: a)
    assert found == (1.5, (2, 3), "int8", "text", True)


def test_functions_of_the_global_registry() -> None:
    register_global_func("testing.vm.nine", lambda: 9, override=True)
    code = Bytecode(
        (BytecodeFunction("main", (), 1, (Call(0, 0, ()), Ret(0))),), ("testing.vm.nine",)
    )
    assert run(code) == 9
    remove_global_func("testing.vm.nine")


def test_functions_call_each_other() -> None:
    code = Bytecode(
        (
            BytecodeFunction("main", (), 1, (Call(0, 1, (Imm(20),)), Ret(0))),
            BytecodeFunction("double", ("x",), 2, (Call(1, 0, (Reg(0), Reg(0))), Ret(1))),
        ),
        ("add", "double"),
    )
    assert run(code, add=lambda a, b: a + b) == 40
