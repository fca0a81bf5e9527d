"""The graph as bytecode: a Relax function becomes instructions over registers.

    gv = call_tir(add, (x, y), Tensor((n, 4)))  ->  %2 = vm.builtin.make_shape(heap, 2, SIZE n, 4)
                                                    %3 = vm.builtin.alloc_storage(...); %4 = ...
                                                    call add(x, y, %4)

Symbolic sizes live in a heap of numbers: parameters' shapes are matched against it at entry, and
expressions over sizes are computed by a small kernel. Kernels write into tensors made for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm.error import TVMError
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.relax.expr import (
    Binding,
    Call,
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relax.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.vm.native import source_names
from tvm.relax.vm.size_heap import SizeHeap
from tvm.runtime import bytecode as bc
from tvm.runtime.artefact import ValueInfo
from tvm.tir.function import PrimFunc

VM_REGISTER = -2  # as argument: the machine itself
BUILTIN = "vm.builtin."


@dataclass
class BytecodeProgram:
    """What compiling to bytecode gives, beside the code: kernels for sizes, and constants."""

    bytecode: bc.Bytecode | None = None
    functions: dict[GlobalVar, BaseFunc] = field(default_factory=dict)
    tensors: list[HostTensor] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    kernels: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def tensor_infos(self) -> tuple[ValueInfo, ...]:
        """Shapes and types of the constants."""
        return tuple(
            ValueInfo(f"constant_{i}", tuple(t.shape), str(t.dtype))
            for i, t in enumerate(self.tensors)
        )


def compile_bytecode(mod: IRModule, functions: Sequence[GlobalVar]) -> BytecodeProgram:
    """Compile Relax functions of a module, and those that they call."""
    tables = _Tables()
    program = BytecodeProgram()
    done: dict[GlobalVar, bc.BytecodeFunction] = {}
    stack = list(reversed(functions))
    while stack:
        var = stack.pop()
        func = mod.functions.get(var)
        if var in done or not isinstance(func, Function):
            continue
        compiler = _FunctionCompiler(mod, var.name_hint, func, tables)
        done[var] = compiler.compile()
        program.functions.update(compiler.heap.kernels())
        stack.extend(reversed(compiler.callees))
    program.bytecode = bc.Bytecode(
        tuple(done.values()), tuple(tables.functions), tuple(tables.constants)
    )
    program.tensors = tables.tensors
    program.called = list(tables.functions)
    program.kernels = list(tables.sources.items())
    return program


class _Tables:
    """Functions, constants and tensors that the instructions refer to by number."""

    def __init__(self) -> None:
        self.functions: dict[str, int] = {}
        self.constants: list[Any] = []
        self.tensors: list[HostTensor] = []
        self.sources: dict[str, tuple[str, ...]] = {}
        self._constant_at: dict[Any, int] = {}

    def function(self, name: str) -> int:
        return self.functions.setdefault(name, len(self.functions))

    def constant(self, value: Any) -> bc.Const:
        key = (type(value).__name__, repr(value))
        at = self._constant_at.get(key)
        if at is None:
            at = self._constant_at[key] = len(self.constants)
            self.constants.append(value)
        return bc.Const(at)

    def tensor(self, data: HostTensor) -> bc.Const:
        for i, known in enumerate(self.tensors):
            if known is data:
                return self.constant({"tensor": i})
        self.tensors.append(data)
        return self.constant({"tensor": len(self.tensors) - 1})


class _FunctionCompiler:
    def __init__(self, mod: IRModule, name: str, func: Function, tables: _Tables) -> None:
        self._mod = mod
        self._name = name
        self._func = func
        self._tables = tables
        self._code: list[bc.Instruction] = []
        self._registers: dict[Var, bc.Arg] = {}
        self._next = len(func.params)
        self.heap = SizeHeap(name)
        self._heap_register = bc.Reg(self._next)
        self.callees: list[GlobalVar] = []

    def compile(self) -> bc.BytecodeFunction:
        for i, param in enumerate(self._func.params):
            self._registers[param] = bc.Reg(i)
        self._next += 1  # the heap of sizes
        start = len(self._code)
        for param in self._func.params:
            context = f"{self._name}: {param.name_hint}"
            self._match(param.struct_info_, self._registers[param], context)
        result = self._sequence(self._func.body)
        self._code.append(bc.Ret(self._in_register(result).index))
        if self.heap.size:
            make = self._call_to(BUILTIN + "alloc_shape_heap", bc.Reg(VM_REGISTER),
                                 bc.Imm(self.heap.size), dst=self._heap_register)  # fmt: skip
            self._code.insert(start, make)
        names = tuple(param.name_hint for param in self._func.params)
        return bc.BytecodeFunction(self._name, names, self._next, tuple(self._code))

    # --- instructions ---

    def _fresh(self) -> bc.Reg:
        register = bc.Reg(self._next)
        self._next += 1
        return register

    def _call_to(self, name: str, *args: bc.Arg, dst: bc.Reg) -> bc.Call:
        return bc.Call(dst.index, self._tables.function(name), args)

    def _emit(self, name: str, *args: bc.Arg) -> bc.Reg:
        dst = self._fresh()
        self._code.append(self._call_to(name, *args, dst=dst))
        return dst

    def _emit_void(self, name: str, *args: bc.Arg) -> None:
        self._code.append(self._call_to(name, *args, dst=bc.Reg(bc.VOID_REGISTER)))

    def _in_register(self, arg: bc.Arg) -> bc.Reg:
        if isinstance(arg, bc.Reg):
            return arg
        return self._emit(BUILTIN + "copy", arg)

    # --- sizes ---

    def _match(self, info: StructInfo | None, value: bc.Arg, context: str) -> None:
        """Check a value against its struct info, and learn the sizes that it brings."""
        where = self._tables.constant(context)
        if isinstance(info, TensorStructInfo):
            dtype = self._tables.constant({"dtype": str(info.dtype)})
            self._emit_void(BUILTIN + "check_tensor_info", value, bc.Imm(info.ndim), dtype, where)
            if isinstance(info.shape, ShapeExpr):
                self._match_shape(info.shape.values, value, where)
        elif isinstance(info, ShapeStructInfo):
            self._emit_void(BUILTIN + "check_shape_info", value, bc.Imm(info.ndim), where)
            if info.values is not None:
                self._match_shape(info.values, value, where)
        elif isinstance(info, PrimStructInfo) and info.value is not None:
            code, number = self._learn(info.value)
            self._emit_void(BUILTIN + "match_prim_value", value, self._heap_register,
                            bc.Imm(code), bc.Imm(number), where)  # fmt: skip
        elif isinstance(info, TupleStructInfo):
            size = bc.Imm(len(info.fields))
            self._emit_void(BUILTIN + "check_tuple_info", value, size, where)
            for i, one in enumerate(info.fields):
                if isinstance(one, (TensorStructInfo, ShapeStructInfo, TupleStructInfo)):
                    item = self._emit(BUILTIN + "tuple_getitem", value, bc.Imm(i))
                    self._match(one, item, f"{context}[{i}]")

    def _match_shape(self, values: Sequence[PrimExpr], value: bc.Arg, where: bc.Const) -> None:
        parts: list[bc.Arg] = []
        for extent in values:
            code, number = self._learn(extent)
            parts += [bc.Imm(code), bc.Imm(number)]
        size = bc.Imm(len(values))
        self._emit_void(BUILTIN + "match_shape", value, self._heap_register, size, *parts, where)

    def _learn(self, extent: PrimExpr) -> tuple[int, int]:
        """How a size is matched: a number compared, a new symbol stored, a known one compared."""
        self._compute(extent)
        return self.heap.match_code(extent)

    def _compute(self, *extents: PrimExpr) -> None:
        """Make sure that expressions over known sizes are in the heap."""
        kernel = self.heap.compute(extents)
        if kernel is not None:
            self._emit_void(kernel, self._heap_register)

    def _shape(self, values: Sequence[PrimExpr]) -> bc.Arg:
        plain = [getattr(value, "value", None) for value in values]
        if all(isinstance(value, int) for value in plain):
            return self._tables.constant([int(v) for v in plain])  # type: ignore[arg-type]
        self._compute(*values)
        parts: list[bc.Arg] = []
        for extent in values:
            code, number = self.heap.make_code(extent)
            parts += [bc.Imm(code), bc.Imm(number)]
        size = bc.Imm(len(values))
        return self._emit(BUILTIN + "make_shape", self._heap_register, size, *parts)

    # --- values ---

    def _sequence(self, seq: SeqExpr) -> bc.Arg:
        for block in seq.blocks:
            for binding in block.bindings:
                self._binding(binding)
        return self._value(seq.body)

    def _binding(self, binding: Binding) -> None:
        value = self._value(binding.value, binding)
        if isinstance(binding, MatchCast):
            context = f"{self._name}: match_cast of {binding.var.name_hint}"
            self._match(binding.struct_info, value, context)
        self._registers[binding.var] = value

    def _value(self, expr: RelaxExpr, binding: Binding | None = None) -> bc.Arg:
        if isinstance(expr, Var):
            return self._registers[expr]
        if isinstance(expr, Constant):
            return self._tables.tensor(expr.data)
        if isinstance(expr, Tuple):
            fields = [self._value(one) for one in expr.fields]
            return self._emit(BUILTIN + "make_tuple", *fields)
        if isinstance(expr, TupleGetItem):
            whole = self._value(expr.tuple_value)
            return self._emit(BUILTIN + "tuple_getitem", whole, bc.Imm(expr.index))
        if isinstance(expr, ShapeExpr):
            return self._shape(expr.values)
        if isinstance(expr, PrimValue):
            return self._prim_value(expr.value)
        if isinstance(expr, StringImm):
            return self._tables.constant(str(expr.value))
        if isinstance(expr, DataTypeImm):
            return self._tables.constant({"dtype": str(expr.value)})
        if isinstance(expr, (GlobalVar, ExternFunc)):
            return self._function_value(expr)
        if isinstance(expr, If):
            return self._branch(expr)
        if isinstance(expr, SeqExpr):
            return self._sequence(expr)
        if isinstance(expr, Call):
            return self._call(expr, binding)
        raise TVMError(f"{self._name}: a {type(expr).__name__} cannot be compiled to bytecode")

    def _prim_value(self, value: PrimExpr) -> bc.Arg:
        number = getattr(value, "value", None)
        if isinstance(number, int):
            return bc.Imm(number)
        if isinstance(number, float):
            return self._tables.constant(number)
        self._compute(value)
        code, at = self.heap.make_code(value)
        made = BUILTIN + "make_prim_value"
        return self._emit(made, self._heap_register, bc.Imm(code), bc.Imm(at))

    def _function_value(self, func: GlobalVar | ExternFunc) -> bc.Arg:
        if isinstance(func, GlobalVar):
            self.callees.append(func)
            return bc.Func(self._tables.function(func.name_hint))
        return bc.Func(self._tables.function(func.global_symbol))

    def _branch(self, expr: If) -> bc.Arg:
        cond = self._emit(BUILTIN + "read_if_cond", self._value(expr.cond))
        result = self._fresh()
        jump = len(self._code)
        self._code.append(bc.If(cond.index, 0))
        known = self.heap.snapshot()
        self._copy_to(result, self._sequence(expr.true_branch))
        leave = len(self._code)
        self._code.append(bc.Goto(0))
        self._code[jump] = bc.If(cond.index, len(self._code) - jump)
        self.heap.restore(known)
        self._copy_to(result, self._sequence(expr.false_branch))
        self.heap.restore(known)
        self._code[leave] = bc.Goto(len(self._code) - leave)
        return result

    def _copy_to(self, dst: bc.Reg, value: bc.Arg) -> None:
        self._code.append(self._call_to(BUILTIN + "copy", value, dst=dst))

    # --- calls ---

    def _call(self, call: Call, binding: Binding | None) -> bc.Arg:
        callee = call.op
        if isinstance(callee, GlobalVar):
            self.callees.append(callee)
            args = [self._value(arg) for arg in call.args]
            return self._emit(callee.name_hint, *args)
        if isinstance(callee, ExternFunc):
            return self._emit(callee.global_symbol, *[self._value(arg) for arg in call.args])
        if isinstance(callee, Op):
            return self._operator(callee.name, call, binding)
        args = [self._value(arg) for arg in call.args]
        invoke = BUILTIN + "invoke_closure"
        return self._emit(invoke, bc.Reg(VM_REGISTER), self._value(callee), *args)

    def _operator(self, name: str, call: Call, binding: Binding | None) -> bc.Arg:
        if name in ("relax.call_tir", "relax.call_dps_packed"):
            return self._destination_call(call, binding)
        if name == "relax.reshape":
            return self._emit(BUILTIN + "reshape", *[self._value(arg) for arg in call.args])
        if name in ("relax.call_pure_packed",):
            func = call.args[0]
            args = [self._value(arg) for arg in call.args[1:]]
            return self._emit(self._symbol(func), *args)
        direct = {
            "relax.shape_of": "shape_of",
            "relax.tensor_to_shape": "tensor_to_shape",
            "relax.null_value": "null_value",
        }.get(name)
        if direct is not None:
            return self._emit(BUILTIN + direct, *[self._value(arg) for arg in call.args])
        if name in ("relax.make_closure", "relax.invoke_closure", "relax.invoke_pure_closure"):
            kind = "make_closure" if name == "relax.make_closure" else "invoke_closure"
            packed = call.args[1]
            fields = packed.fields if isinstance(packed, Tuple) else (packed,)
            given = [self._value(one) for one in fields]
            func_value = self._value(call.args[0])
            return self._emit(BUILTIN + kind, bc.Reg(VM_REGISTER), func_value, *given)
        raise TVMError(
            f"{self._name}: operator {name} has no code of its own; legalize it first "
            "(tvm.relax.transform.LegalizeOps)"
        )

    def _symbol(self, func: RelaxExpr) -> str:
        if isinstance(func, GlobalVar):
            self.callees.append(func)
            return func.name_hint
        assert isinstance(func, ExternFunc), "a packed function has a name"
        return func.global_symbol

    def _destination_call(self, call: Call, binding: Binding | None) -> bc.Arg:
        """A kernel writes into tensors that are made for it."""
        name = self._symbol(call.args[0])
        operands = call.args[1]
        fields = operands.fields if isinstance(operands, Tuple) else (operands,)
        args = [self._value(one) for one in fields]
        info = call.struct_info
        infos = info.fields if isinstance(info, TupleStructInfo) else (info,)
        results = [self._new_tensor(one) for one in infos]
        args += results
        if len(call.args) > 2:
            numbers = call.args[2]
            assert isinstance(numbers, ShapeExpr), "extra sizes are written out"
            args += [self._prim_value(value) for value in numbers.values]
        span = call.span or (binding.span if binding is not None else None)
        if isinstance(self._mod.functions.get(call.args[0]), PrimFunc):  # type: ignore[call-overload]
            known = self._tables.sources.get(name, ())
            self._tables.sources[name] = tuple(dict.fromkeys([*known, *source_names(span)]))
        self._emit_void(name, *args)
        if isinstance(info, TupleStructInfo):
            return self._emit(BUILTIN + "make_tuple", *results)
        return results[0]

    def _new_tensor(self, info: StructInfo) -> bc.Reg:
        if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
            raise TVMError(
                f"{self._name}: the result of a kernel is {info}; its shape must be known"
            )
        shape = self._shape(info.shape.values)
        dtype = self._tables.constant({"dtype": str(info.dtype)})
        machine = bc.Reg(VM_REGISTER)
        storage = self._emit(BUILTIN + "alloc_storage", machine, shape, bc.Imm(0), dtype)
        return self._emit(BUILTIN + "alloc_tensor", storage, bc.Imm(0), shape, dtype)
