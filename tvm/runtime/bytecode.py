"""The virtual machine's program: four instructions over registers.

    call  r2 = kernel(r0, c1, i3)     r: register, c: constant, i: number, f: function
    ret   r2
    goto  offset                      offsets count instructions, from this one
    if    r2, offset                  go on with the next if r2 is true, else at the offset
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from tvm.error import InternalError, message

VOID_REGISTER: Final = -1  # as destination: the result is dropped; as argument: None
VM_REGISTER: Final = -2  # as argument: the machine itself


@dataclass(frozen=True)
class Reg:
    """A register; VOID_REGISTER stands for no value."""

    index: int

    def __str__(self) -> str:
        return {VOID_REGISTER: "%void", VM_REGISTER: "%vm"}.get(self.index, f"%{self.index}")


@dataclass(frozen=True)
class Imm:
    """A number."""

    value: int

    def __str__(self) -> str:
        return f"i{self.value}"


@dataclass(frozen=True)
class Const:
    """A constant by its index in the table."""

    index: int

    def __str__(self) -> str:
        return f"c[{self.index}]"


@dataclass(frozen=True)
class Func:
    """A function by its index in the table."""

    index: int

    def __str__(self) -> str:
        return f"f[{self.index}]"


Arg = Reg | Imm | Const | Func
_ARG_LETTERS: Final[dict[str, type[Any]]] = {"r": Reg, "i": Imm, "c": Const, "f": Func}


@dataclass(frozen=True)
class Call:
    """dst = func(args)."""

    dst: int
    func: int
    args: tuple[Arg, ...]


@dataclass(frozen=True)
class Ret:
    """Return a register."""

    result: int


@dataclass(frozen=True)
class Goto:
    """Jump."""

    offset: int


@dataclass(frozen=True)
class If:
    """Jump unless a register is true."""

    cond: int
    false_offset: int


Instruction = Call | Ret | Goto | If


@dataclass(frozen=True)
class BytecodeFunction:
    """Parameters are in the first registers when the function starts."""

    name: str
    params: tuple[str, ...]
    register_count: int
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Bytecode:
    """Functions, the names that calls refer to, and constants (plain values, or tensor numbers).

    A constant is an int, float, str, bool, a list of ints (a shape), {"dtype": name}, or
    {"tensor": n} for the n-th tensor of the executable.
    """

    functions: tuple[BytecodeFunction, ...]
    func_table: tuple[str, ...]
    constants: tuple[Any, ...] = field(default=())

    def find(self, name: str) -> BytecodeFunction | None:
        """The function called `name`."""
        return next((f for f in self.functions if f.name == name), None)

    def as_text(self) -> str:
        """A listing of the functions in the order of the table; those written elsewhere by name."""
        written = {f.name: f for f in self.functions}
        lines: list[str] = []
        for name in dict.fromkeys([*self.func_table, *written]):
            func = written.get(name)
            if func is None:
                lines.append(f"@{name} packed_func;")
            else:
                lines.append(f"@{name}:")
                lines += ["  " + self._line(i) for i in func.instructions]
            lines.append("")
        return "".join(f"{line}\n" for line in lines)

    def _line(self, instruction: Instruction) -> str:
        if isinstance(instruction, Call):
            args = ", ".join(self._shown(a) for a in instruction.args)
            name = self.func_table[instruction.func]
            return f"call  {name:<16} in: {args:<12} dst: {Reg(instruction.dst)}"
        if isinstance(instruction, Ret):
            return f"ret   {Reg(instruction.result)}"
        if isinstance(instruction, Goto):
            return f"goto  {instruction.offset}"
        return f"If    {Reg(instruction.cond)}, {instruction.false_offset}"

    def _shown(self, arg: Arg) -> str:
        return f"f[{self.func_table[arg.index]}]" if isinstance(arg, Func) else str(arg)

    def as_python(self) -> str:
        """Calls of the builder that make the program; tensors are named by their numbers."""
        lines = ["ib = relax.ExecBuilder()"]
        for func in self.functions:
            names = ", ".join(repr(p) for p in func.params)
            lines.append(
                f'with ib.function("{func.name}", num_inputs={len(func.params)}, '
                f"param_names=[{names}]):"
            )
            lines += ["    " + self._python_line(i) for i in func.instructions] or ["    pass"]
        return "\n".join(lines) + "\n"

    def _python_line(self, instruction: Instruction) -> str:
        if isinstance(instruction, Call):
            args = ", ".join(self._python_arg(arg) for arg in instruction.args)
            dst = Reg(instruction.dst)
            into = "" if instruction.dst == VOID_REGISTER else f", dst={self._python_arg(dst)}"
            return f'ib.emit_call("{self.func_table[instruction.func]}", args=[{args}]{into})'
        if isinstance(instruction, Ret):
            return f"ib.emit_ret({self._python_arg(Reg(instruction.result))})"
        if isinstance(instruction, Goto):
            return f"ib.emit_goto({instruction.offset})"
        return f"ib.emit_if({self._python_arg(Reg(instruction.cond))}, {instruction.false_offset})"

    def _python_arg(self, arg: Arg) -> str:
        if isinstance(arg, Reg):
            special = {VOID_REGISTER: "ib.void_arg()", VM_REGISTER: "ib.vm_state()"}
            return special.get(arg.index, f"ib.r({arg.index})")
        if isinstance(arg, Imm):
            return f"ib.imm({arg.value})"
        if isinstance(arg, Func):
            return f'ib.f("{self.func_table[arg.index]}")'
        value = self.constants[arg.index]
        if isinstance(value, dict):
            if "tensor" in value:
                return f"ib.c({arg.index})"
            return f"ib.convert_constant(tvm.DataType({value['dtype']!r}))"
        if isinstance(value, list):
            return f"ib.convert_constant({tuple(value)})"
        return f"ib.convert_constant({value!r})"

    def as_record(self) -> dict[str, Any]:
        """Plain lists and dicts, for JSON."""
        return {
            "functions": [
                {
                    "name": f.name,
                    "params": list(f.params),
                    "registers": f.register_count,
                    "code": [_encode(i) for i in f.instructions],
                }
                for f in self.functions
            ],
            "func_table": list(self.func_table),
            "constants": list(self.constants),
        }

    @staticmethod
    def from_record(record: dict[str, Any]) -> Bytecode:
        """The program of a record made by `as_record`."""
        functions = tuple(
            BytecodeFunction(
                f["name"], tuple(f["params"]), f["registers"], tuple(_decode(i) for i in f["code"])
            )
            for f in record["functions"]
        )
        return Bytecode(functions, tuple(record["func_table"]), tuple(record["constants"]))


def _encode(instruction: Instruction) -> list[Any]:
    if isinstance(instruction, Call):
        args = [
            [_letter(a), a.value if isinstance(a, Imm) else a.index] for a in instruction.args
        ]
        return ["call", instruction.dst, instruction.func, args]
    if isinstance(instruction, Ret):
        return ["ret", instruction.result]
    if isinstance(instruction, Goto):
        return ["goto", instruction.offset]
    return ["if", instruction.cond, instruction.false_offset]


def _letter(arg: Arg) -> str:
    return next(letter for letter, kind in _ARG_LETTERS.items() if isinstance(arg, kind))


def _decode(parts: list[Any]) -> Instruction:
    if parts[0] == "call":
        args = tuple(_ARG_LETTERS[letter](value) for letter, value in parts[3])
        return Call(parts[1], parts[2], args)
    if parts[0] == "ret":
        return Ret(parts[1])
    if parts[0] == "goto":
        return Goto(parts[1])
    if parts[0] == "if":
        return If(parts[1], parts[2])
    raise InternalError(
        message("read bytecode", found=f"instruction {parts[0]!r}", legal="call, ret, goto, if")
    )
