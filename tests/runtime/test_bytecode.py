"""Bytecode: listings, and the record that travels in a library."""

from __future__ import annotations

import json

import pytest

from tvm.error import InternalError
from tvm.runtime.bytecode import (
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
        "@main(x, flag):\n"
        "  if    %1, 3\n"
        "  call  %2 = kernel(%0, c[0], i-5, f[1])\n"
        "  goto  2\n"
        "  call  %void = vm.builtin.copy(%void)\n"
        "  ret   %2\n"
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
