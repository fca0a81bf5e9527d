"""Runs bytecode: one dispatch an instruction, functions looked up once a program."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from tvm.error import TVMError, message
from tvm.ffi import get_global_func
from tvm.support.dtype import DataType

from ._device import Device
from ._tensor import Tensor
from .bytecode import (
    VM_REGISTER,
    Arg,
    Bytecode,
    BytecodeFunction,
    Call,
    Const,
    If,
    Imm,
    Reg,
    Ret,
)
from .interruption import current_limit
from .launch_plan import LaunchPlans
from .module import Module
from .vm_builtin import BUILTINS, Closure, VMShape, outside

Hook = Callable[[str, Callable[..., Any], tuple[Any, ...]], Any]


# What a decoded step does: call; forget a register; copy one; return; jump; jump unless true.
_CALL, _KILL, _COPY, _RETURN, _GOTO, _IF = range(6)
Getter = Callable[[list[Any]], tuple[Any, ...]]
_Step = tuple[int, int, Callable[..., Any] | None, Getter, str]


class _Code:
    """A function ready to run: its steps, and what its registers hold besides the arguments.

    Numbers, constants and functions lie behind the registers, so that one look-up by position
    fetches all arguments of a call.
    """

    __slots__ = ("rest", "steps")

    def __init__(self, steps: list[_Step], rest: list[Any]) -> None:
        self.steps = steps
        self.rest = rest


class Interpreter:
    """A program with its functions and constants; `run` calls one of its functions."""

    def __init__(
        self, machine: Any, code: Bytecode, kernels: Module, tensors: tuple[Tensor, ...],
        tensors_on: Device | None = None, launching: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.machine = machine
        self.code = code
        self.constants = [_constant(c, tensors) for c in code.constants]
        self._kernels = kernels
        self._functions = {func.name: func for func in code.functions}
        self._found: list[Callable[..., Any] | None] = [None] * len(code.func_table)
        self._decoded: dict[str, _Code] = {}
        self.hook: Hook | None = None
        self._plans: LaunchPlans | None = None
        if launching and tensors_on is not None:
            self._plans = LaunchPlans(self, tensors_on, launching, tensors)

    def run(self, func: BytecodeFunction, args: tuple[Any, ...]) -> Any:
        """The result of a function on arguments."""
        if self._plans is not None and self.hook is None:
            return self._plans.run(func, args)
        return self.execute(func, args, self.hook)

    def name_of(self, func: Any) -> str:
        """The name by which the program calls a function of its table; "" of any other."""
        return next((n for n, one in zip(self.code.func_table, self._found) if one is func), "")

    def execute(self, func: BytecodeFunction, args: tuple[Any, ...], hook: Hook | None) -> Any:
        """The result of a function on arguments, by its steps; `hook` makes the calls."""
        code = self._decoded.get(func.name)
        if code is None:
            code = self._decoded[func.name] = self._decode(func)
        registers: list[Any] = [*args, *code.rest]
        steps, pc = code.steps, 0
        limit = current_limit()
        while True:
            kind, dst, target, given, name = steps[pc]
            pc += 1
            if kind == _CALL:
                if limit is not None:
                    limit.check(name)
                if hook is None:
                    result = target(*given(registers))  # type: ignore[misc]
                else:
                    result = hook(name, target, given(registers))  # type: ignore[arg-type]
                if dst >= 0:
                    registers[dst] = result
            elif kind == _KILL:
                registers[dst] = None
            elif kind == _COPY:
                (registers[dst],) = given(registers)
            elif kind == _RETURN:
                return registers[dst]
            elif kind == _GOTO or not registers[dst]:
                pc += int(name) - 1
            # a condition that holds goes on with the next step

    def _decode(self, func: BytecodeFunction) -> _Code:
        first = func.register_count
        behind: dict[Arg, int] = {}  # constants and the like, and where they lie

        def position(arg: Arg) -> int:
            if isinstance(arg, Reg) and arg.index >= 0:
                return arg.index
            return behind.setdefault(arg, first + len(behind))

        steps: list[_Step] = []
        for one in func.instructions:
            if isinstance(one, Call):
                name = self.code.func_table[one.func]
                getter = _getter([position(arg) for arg in one.args])
                steps.append((_kind_of(name, one), one.dst, self._function(one.func), getter, name))
            elif isinstance(one, Ret):
                steps.append((_RETURN, position(Reg(one.result)), None, _nothing, ""))
            elif isinstance(one, If):
                steps.append((_IF, one.cond, None, _nothing, str(one.false_offset)))
            else:
                steps.append((_GOTO, 0, None, _nothing, str(one.offset)))
        rest: list[Any] = [None] * (first - len(func.params))
        return _Code(steps, rest + [self._value(arg) for arg in behind])

    def _value(self, arg: Arg) -> Any:
        if isinstance(arg, Reg):
            return self.machine if arg.index == VM_REGISTER else None
        if isinstance(arg, Imm):
            return arg.value
        if isinstance(arg, Const):
            return self.constants[arg.index]
        return self._function(arg.index)

    def _function(self, index: int) -> Callable[..., Any]:
        """A function of the table; one that is not there fails when it is called."""
        found = self._found[index]
        if found is None:
            try:
                found = self._look_up(self.code.func_table[index])
            except TVMError as err:
                return _Missing(err)
            self._found[index] = found
        return found

    def _look_up(self, name: str) -> Callable[..., Any]:
        """Functions of the program, builtins, kernels, and then the global registry."""
        if name in self._functions:
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
        return _Outside(func)


class _Outside:
    """A registered function; shapes arrive there as shapes, not as tuples."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self._func = func

    def __call__(self, *args: Any) -> Any:
        return self._func(*[outside(arg) for arg in args])


class _Missing:
    """Stands for a function that is not there; other branches of the program may run."""

    def __init__(self, reason: TVMError) -> None:
        self._reason = reason

    def __call__(self, *args: Any) -> Any:
        raise self._reason


def _kind_of(name: str, call: Call) -> int:
    """Whether a call is one of those that need none."""
    if call.dst >= 0 and name == "vm.builtin.null_value":
        return _KILL
    return _COPY if call.dst >= 0 and name == "vm.builtin.copy" else _CALL


def _nothing(registers: list[Any]) -> tuple[Any, ...]:
    return ()


def _getter(positions: list[int]) -> Getter:
    if not positions:
        return _nothing
    if len(positions) == 1:
        (at,) = positions
        return lambda registers: (registers[at],)
    return itemgetter(*positions)


def _constant(value: Any, tensors: tuple[Tensor, ...]) -> Any:
    if isinstance(value, dict):
        if "tensor" in value:
            return tensors[value["tensor"]]
        return DataType(value["dtype"])
    return VMShape(value) if isinstance(value, list) else value
