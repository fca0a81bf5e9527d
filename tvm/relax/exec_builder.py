"""ExecBuilder: writes programs of the virtual machine instruction by instruction.

    ib = relax.ExecBuilder()
    with ib.function("main", num_inputs=2):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    executable = ib.get()

Registers may be numbered freely; the finished program numbers them in the order of their first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from typing_extensions import Self

from tvm.error import CheckError, message
from tvm.ffi.object import Object
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.support.dtype import DataType

if TYPE_CHECKING:
    from tvm.runtime.bytecode import Arg, Bytecode, BytecodeFunction, Const, Func, Imm, Reg
    from tvm.runtime.module import Module
    from tvm.runtime.vm_executable import VMExecutable


_COMPARED_BYTES: Final = 1 << 16  # larger tensors are the same only if they are one object


class SpecialReg(IntEnum):
    """Registers with a meaning of their own."""

    VOID_ARG = (1 << 54) + 0
    VM_STATE = (1 << 54) + 1


class VMFuncKind(IntEnum):
    """What kind of function a name stands for."""

    PACKED_FUNC = 0
    VM_FUNC = 1


class VMFuncScope:
    """`with ib.function(...)`: what is emitted within belongs to one function."""

    stack: ClassVar[list[VMFuncScope]] = []

    def __init__(self, exit_callback: Callable[[], None]) -> None:
        self.exit_callback = exit_callback

    def __enter__(self) -> Self:
        VMFuncScope.stack.append(self)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        VMFuncScope.stack.pop()
        self.exit_callback()


def _whole(what: str, value: int) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(
            message(f"ExecBuilder.{what}", found=f"{value!r}", legal="a whole number")
        ) from None


class _Building:
    """A function that is being written."""

    def __init__(self, name: str, params: tuple[str, ...]) -> None:
        self.name = name
        self.params = params
        self.instructions: list[Any] = []


class ExecBuilder(Object):
    """Collects functions, the names that they call, and constants; `get` gives an executable."""

    def __init__(self) -> None:
        from tvm.runtime import bytecode

        self._bc = bytecode
        self._functions: dict[str, BytecodeFunction] = {}
        self._open: _Building | None = None
        self._names: dict[str, int] = {}
        self._constants: list[Any] = []
        self._constant_at: dict[Any, int] = {}
        self._tensors: list[Any] = []

    # --- arguments ---

    def r(self, idx: int) -> Reg:
        """A register."""
        if idx == SpecialReg.VOID_ARG:
            return self.void_arg()
        if idx == SpecialReg.VM_STATE:
            return self.vm_state()
        return self._bc.Reg(_whole("r", idx))

    def imm(self, value: int) -> Imm:
        """A number."""
        return self._bc.Imm(_whole("imm", value))

    def c(self, idx: int) -> Const:
        """A constant by its index in the table."""
        return self._bc.Const(_whole("c", idx))

    def f(self, name: str) -> Func:
        """A function as a value."""
        return self._bc.Func(self.function_index(name))

    def void_arg(self) -> Reg:
        """No value."""
        return self._bc.Reg(self._bc.VOID_REGISTER)

    def vm_state(self) -> Reg:
        """The machine that runs the program."""
        return self._bc.Reg(self._bc.VM_REGISTER)

    def function_index(self, name: str) -> int:
        """The index of a function in the table of names."""
        return self._names.setdefault(name, len(self._names))

    # --- functions ---

    def declare_function(self, func_name: str, kind: VMFuncKind = VMFuncKind.PACKED_FUNC) -> None:
        """Give a function its index in the table before it is called or written."""
        VMFuncKind(kind)
        self.function_index(func_name)

    def function(
        self,
        func_name: str,
        num_inputs: int | None = 0,
        param_names: Sequence[str] | None = None,
    ) -> VMFuncScope:
        """A scope that writes a function; its parameters are in the first registers."""
        count = num_inputs or 0
        names = tuple(param_names or (f"param{i}" for i in range(count)))
        if len(names) != count:
            raise ValueError(
                message(
                    f"ExecBuilder.function({func_name!r}): {count} inputs",
                    found=f"{len(names)} names of parameters",
                    legal="a name for each",
                )
            )
        if func_name in self._functions:
            raise CheckError(
                message(f"ExecBuilder.function({func_name!r})", found="it is written already")
            )
        if self._open is not None:
            raise CheckError(
                message(
                    f"ExecBuilder.function({func_name!r})",
                    found=f"{self._open.name!r} is open",
                    legal="one function after the other",
                )
            )
        self.function_index(func_name)
        self._open = _Building(func_name, names)
        return VMFuncScope(self._close)

    def _close(self) -> None:
        done, self._open = self._open, None
        if done is not None:
            count = _register_count(self._bc, done)
            code = tuple(done.instructions)
            self._functions[done.name] = self._bc.BytecodeFunction(
                done.name, done.params, count, code
            )

    def _emit(self, instruction: Any) -> None:
        if self._open is None:
            raise ValueError(
                message(
                    "ExecBuilder: an instruction",
                    found="no function is open",
                    legal='with ib.function("main", num_inputs=1): ...',
                )
            )
        self._open.instructions.append(instruction)

    @property
    def position(self) -> int:
        """How many instructions the open function has."""
        return 0 if self._open is None else len(self._open.instructions)

    def patch(self, position: int, instruction: Any) -> None:
        """Replace an instruction of the open function: a jump whose goal is known now."""
        assert self._open is not None, "a function is open"
        self._open.instructions[position] = instruction

    # --- constants ---

    def convert_constant(self, const: object) -> Const | Imm:
        """A constant of the table; equal ones are kept once. Integers stand in the instructions."""
        if isinstance(const, int) and not isinstance(const, bool):
            return self._bc.Imm(const)
        kept, key = self._as_constant(const)
        at = self._constant_at.get(key)
        if at is None:
            at = self._constant_at[key] = len(self._constants)
            self._constants.append(kept)
        return self._bc.Const(at)

    def _as_constant(self, const: Any) -> tuple[Any, Any]:
        """What is kept in the table, and what tells it from others."""
        if isinstance(const, bool):
            return const, ("bool", const)
        # data types are texts too; the second is that of the runtime library
        if isinstance(const, DataType) or type(const).__name__ == "dtype":
            return {"dtype": str(const)}, object()  # each has an entry of its own
        if isinstance(const, str):
            return const, ("str", const)
        if isinstance(const, float):
            return const, ("float", repr(const))
        if hasattr(const, "__array_interface__"):
            from tvm.runtime import tensor

            const = tensor(const)
        if hasattr(const, "numpy"):
            values = const.numpy()
            key: tuple[Any, ...] = ("tensor", id(const))
            if values.nbytes <= _COMPARED_BYTES:
                key = ("tensor", str(const.dtype), tuple(values.shape), values.tobytes())
            kept = {"tensor": len(self._tensors)}
            if key not in self._constant_at:
                self._tensors.append(const)
            return kept, key
        if isinstance(const, Sequence) and all(isinstance(v, int) for v in const):
            return [int(v) for v in const], ("shape", tuple(const))
        raise TypeError(
            message(
                "ExecBuilder: a constant",
                found=f"{type(const).__name__} {const!r}",
                legal="a number, string, data type, shape (integers) or tensor",
            )
        )

    # --- instructions ---

    def emit_call(
        self, name: str, args: Sequence[Any] | None = None, dst: Reg | int | None = None
    ) -> None:
        """Call a function; shapes, data types and tensors among the arguments become constants."""
        given = tuple(self._as_arg(arg) for arg in args or ())
        target = self.void_arg() if dst is None else self.r(dst) if isinstance(dst, int) else dst
        self._emit(self._bc.Call(target.index, self.function_index(name), given))

    def _as_arg(self, arg: Any) -> Arg:
        kinds = (self._bc.Reg, self._bc.Imm, self._bc.Const, self._bc.Func)
        return arg if isinstance(arg, kinds) else self.convert_constant(arg)

    def emit_ret(self, result: Reg | int) -> None:
        """Return a register."""
        register = self.r(result) if isinstance(result, int) else result
        self._emit(self._bc.Ret(register.index))

    def emit_goto(self, pc_offset: int) -> None:
        """Go on so many instructions from this one."""
        self._emit(self._bc.Goto(int(pc_offset)))

    def emit_if(self, cond: Reg | int, false_offset: int) -> None:
        """Go on with the next instruction if the register is true, else so many from this one."""
        register = self.r(cond) if isinstance(cond, int) else cond
        self._emit(self._bc.If(register.index, int(false_offset)))

    # --- the result ---

    def bytecode(self) -> Bytecode:
        """The program with registers renumbered; raises TVMError if one is read but never set."""
        functions = tuple(_formal(self._bc, func) for func in self._functions.values())
        return self._bc.Bytecode(functions, tuple(self._names), tuple(self._constants))

    @property
    def tensors(self) -> list[Any]:
        """The tensors among the constants."""
        return self._tensors

    def get(self) -> VMExecutable:
        """The program as an executable."""
        from tvm.runtime._tensor import Tensor, from_host
        from tvm.runtime.artefact import Artefact, FunctionInfo, ValueInfo
        from tvm.runtime.vm_executable import VMExecutable, VMModule

        code = self.bytecode()
        infos = tuple(
            FunctionInfo(f.name, tuple(ValueInfo(p, (), "object") for p in f.params), ())
            for f in code.functions
        )
        tensors: tuple[Tensor, ...] = tuple(
            t if isinstance(t, Tensor) else from_host(t.numpy()) for t in self._tensors
        )
        shapes = tuple(
            ValueInfo(f"constant_{i}", tuple(int(n) for n in t.shape), str(t.dtype))
            for i, t in enumerate(tensors)
        )
        artefact = Artefact(infos, bytecode=code, tensors=shapes)
        return VMExecutable(VMModule(artefact, no_kernels(), tensors))


def no_kernels() -> Module:
    """Machine code for a program that has none of its own: a file needs some to lie beside.

    Each program gets a module of its own, for it may import libraries.
    """
    from tvm.tir.build import build
    from tvm.tir.expr import IntImm
    from tvm.tir.function import PrimFunc
    from tvm.tir.stmt import Evaluate

    func = PrimFunc([], Evaluate(IntImm("int32", 0)), attrs={"global_symbol": "__tvm_no_kernels"})
    return build(IRModule({GlobalVar("__tvm_no_kernels"): func}), "llvm")


def _registers(bc: Any, instruction: Any) -> list[int]:
    """The registers that an instruction reads."""
    if isinstance(instruction, bc.Call):
        return [a.index for a in instruction.args if isinstance(a, bc.Reg) and a.index >= 0]
    if isinstance(instruction, bc.Ret):
        return [instruction.result] if instruction.result >= 0 else []
    return [instruction.cond] if isinstance(instruction, bc.If) else []


def _register_count(bc: Any, func: _Building) -> int:
    used = [len(func.params) - 1]
    for instruction in func.instructions:
        used += _registers(bc, instruction)
        if isinstance(instruction, bc.Call):
            used.append(instruction.dst)
    return max(used) + 1


def _check_jump(bc: Any, name: str, at: int, instruction: Any) -> None:
    """A jump goes somewhere else; where a condition fails, past the next instruction."""
    goes = isinstance(instruction, bc.Goto)
    if (goes and instruction.offset == 0) or (
        isinstance(instruction, bc.If) and instruction.false_offset < 2
    ):
        raise CheckError(
            message(
                f"ExecBuilder: the jump of instruction {at} of {name!r}",
                found=f"offset {instruction.offset if goes else instruction.false_offset}",
                legal="any but 0" if goes else "2 or more, past what runs if the condition holds",
            )
        )


def _formal(bc: Any, func: BytecodeFunction) -> Any:
    """The function with its registers numbered in the order in which they are set."""
    compacted = {i: i for i in range(len(func.params))}
    for instruction in func.instructions:
        if isinstance(instruction, bc.Call) and instruction.dst >= 0:
            compacted.setdefault(instruction.dst, len(compacted))
    loops = any(isinstance(i, bc.Goto) and i.offset < 0 for i in func.instructions)
    ready = set(compacted) if loops else set(range(len(func.params)))
    if not func.instructions:
        raise CheckError(f"ExecBuilder: the function {func.name!r} has no instructions")
    for at, instruction in enumerate(func.instructions):
        _check_jump(bc, func.name, at, instruction)
        for register in _registers(bc, instruction):
            if register not in ready:
                raise CheckError(
                    message(
                        f"ExecBuilder: register %{register} of {func.name!r}",
                        found=f"instruction {at} reads it, and nothing before sets it",
                        legal=f"a parameter (%0 to %{len(func.params) - 1}) or what a call sets",
                    )
                )
        if isinstance(instruction, bc.Call):
            ready.add(instruction.dst)

    def compact(register: int) -> int:
        return compacted.get(register, register)

    code: list[Any] = []
    for instruction in func.instructions:
        if isinstance(instruction, bc.Call):
            args = tuple(
                bc.Reg(compact(a.index)) if isinstance(a, bc.Reg) else a for a in instruction.args
            )
            code.append(bc.Call(compact(instruction.dst), instruction.func, args))
        elif isinstance(instruction, bc.Ret):
            code.append(bc.Ret(compact(instruction.result)))
        elif isinstance(instruction, bc.If):
            code.append(bc.If(compact(instruction.cond), instruction.false_offset))
        else:
            code.append(instruction)
    return bc.BytecodeFunction(func.name, func.params, len(compacted), tuple(code))


__all__ = ["ExecBuilder", "SpecialReg", "VMFuncKind", "VMFuncScope"]
