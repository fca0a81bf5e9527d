"""Bytecode: listings, and the record that travels in a library."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tvm
from tvm import relax
from tvm.error import InternalError
from tvm.runtime.bytecode import (
    VM_REGISTER,
    VOID_REGISTER,
    Bytecode,
    BytecodeFunction,
    Call,
    Const,
    Func,
    Goto,
    If,
    Imm,
    Reg,
    Ret,
)

pytestmark = pytest.mark.pure

CODE = Bytecode(
    (
        BytecodeFunction(
            "main", ("x", "flag"), 4,
            (
                If(1, 3),
                Call(2, 0, (Reg(0), Const(0), Imm(-5), Func(1))),
                Goto(2),
                Call(VOID_REGISTER, 1, (Reg(VOID_REGISTER),)),
                Ret(2),
            ),
        ),
    ),
    ("kernel", "vm.builtin.copy"),
    (1.5, [2, 3], {"dtype": "float32"}, {"tensor": 0}, "text", True),
)  # fmt: skip


def test_the_listing() -> None:
    assert CODE.as_text() == (
        "@kernel packed_func;\n\n"
        "@vm.builtin.copy packed_func;\n\n"
        "@main:\n"
        "  If    %1, 3\n"
        "  call  kernel           in: %0, c[0], i-5, f[vm.builtin.copy] dst: %2\n"
        "  goto  2\n"
        "  call  vm.builtin.copy  in: %void        dst: %void\n"
        "  ret   %2\n\n"
    )


def test_the_record_gives_the_same_program() -> None:
    assert Bytecode.from_record(json.loads(json.dumps(CODE.as_record()))) == CODE


def test_functions_are_found_by_name() -> None:
    assert CODE.find("main") is CODE.functions[0]
    assert CODE.find("other") is None


def test_unknown_instructions_are_refused() -> None:
    record = CODE.as_record()
    record["functions"][0]["code"] = [["jump", 1]]
    with pytest.raises(InternalError, match="instruction 'jump'"):
        Bytecode.from_record(record)


def test_the_calls_of_the_builder_make_it_again() -> None:
    code = Bytecode(
        (BytecodeFunction("main", ("x",), 3, (
            If(0, 3),
            Call(1, 0, (Reg(VM_REGISTER), Const(0), Imm(-5), Func(1), Const(1), Const(2))),
            Goto(2),
            Call(VOID_REGISTER, 1, (Reg(VOID_REGISTER),)),
            Ret(0),
        )),),
        ("kernel", "vm.builtin.copy"),
        ([2, 3], {"dtype": "float32"}, "text"),
    )  # fmt: skip
    names: dict[str, Any] = {"relax": relax, "tvm": tvm}
    exec(code.as_python(), names)
    again = names["ib"].get().mod.artefact.bytecode
    assert again.as_python() == code.as_python()
    assert again.constants == code.constants
    assert CODE.as_python().splitlines()[-3:-1] == [
        "    ib.emit_goto(2)", '    ib.emit_call("vm.builtin.copy", args=[ib.void_arg()])',
    ]  # fmt: skip
