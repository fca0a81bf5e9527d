"""Runs bytecode: one dispatch an instruction, functions looked up once a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ffi import get_global_func
from tvm.support.dtype import DataType

from ._tensor import Tensor
from .bytecode import (
    VOID_REGISTER,
    Arg,
    Bytecode,
    BytecodeFunction,
    Call,
    Const,
    Func,
    If,
    Imm,
    Reg,
    Ret,
)
from .module import Module
from .vm_builtin import BUILTINS, Closure

VM_REGISTER: Final = -2  # as argument: the machine itself
Hook = Callable[[str, Callable[..., Any], tuple[Any, ...]], Any]


class Interpreter:
    """A program with its functions and constants; `run` calls one of its functions."""

    def __init__(
        self, machine: Any, code: Bytecode, kernels: Module, tensors: tuple[Tensor, ...]
    ) -> None:
        self.machine = machine
        self.code = code
        self.constants = [_constant(c, tensors) for c in code.constants]
        self._kernels = kernels
        self._found: list[Callable[..., Any] | None] = [None] * len(code.func_table)
        self.hook: Hook | None = None

    def run(self, func: BytecodeFunction, args: tuple[Any, ...]) -> Any:
        """The result of a function on arguments."""
        registers: list[Any] = [*args, *[None] * (func.register_count - len(args))]
        place = 0
        while True:
            instruction = func.instructions[place]
            if isinstance(instruction, Call):
                given = tuple(self._value(registers, a) for a in instruction.args)
                result = self._call(instruction.func, given)
                if instruction.dst != VOID_REGISTER:
                    registers[instruction.dst] = result
                place += 1
            elif isinstance(instruction, Ret):
                return registers[instruction.result]
            elif isinstance(instruction, If):
                place += 1 if registers[instruction.cond] else instruction.false_offset
            else:
                place += instruction.offset

    def _value(self, registers: list[Any], arg: Arg) -> Any:
        if isinstance(arg, Reg):
            if arg.index >= 0:
                return registers[arg.index]
            return self.machine if arg.index == VM_REGISTER else None
        if isinstance(arg, Imm):
            return arg.value
        if isinstance(arg, Const):
            return self.constants[arg.index]
        return self.function_value(arg)

    def function_value(self, arg: Func) -> Any:
        """A function as a value: a closure for those of the program itself."""
        name = self.code.func_table[arg.index]
        if self.code.find(name) is not None:
            return Closure(self.machine, name, ())
        return self._function(arg.index)

    def _call(self, index: int, args: tuple[Any, ...]) -> Any:
        func = self._found[index] or self._function(index)
        if self.hook is not None:
            return self.hook(self.code.func_table[index], func, args)
        return func(*args)

    def _function(self, index: int) -> Callable[..., Any]:
        found = self._found[index]
        if found is None:
            found = self._look_up(self.code.func_table[index])
            self._found[index] = found
        return found

    def _look_up(self, name: str) -> Callable[..., Any]:
        """Functions of the program, builtins, kernels, and then the global registry."""
        own = self.code.find(name)
        if own is not None:
            return Closure(self.machine, name, ())
        if name in BUILTINS:
            return BUILTINS[name]
        if self._kernels.implements_function(name, query_imports=True):
            kernel: Callable[..., Any] = self._kernels.get_function(name, query_imports=True)
            return kernel
        func = get_global_func(name, allow_missing=True)
        if func is None:
            raise TVMError(
                message(
                    f"run a program that calls {name!r}",
                    found="neither a kernel of the program nor a registered function",
                    legal=f"register it: @tvm.register_global_func({name!r})",
                )
            )
        result: Callable[..., Any] = func
        return result


def _constant(value: Any, tensors: tuple[Tensor, ...]) -> Any:
    if isinstance(value, dict):
        if "tensor" in value:
            return tensors[value["tensor"]]
        return DataType(value["dtype"])
    return tuple(value) if isinstance(value, list) else value
