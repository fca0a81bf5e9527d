"""The graph as bytecode: a lowered Relax function becomes instructions over registers.

    storage = R.vm.alloc_storage(...)      ->  call  %2 = vm.builtin.alloc_storage(%vm, c[0], ...)
    alloc = R.vm.alloc_tensor(storage, ..) ->  call  %3 = vm.builtin.alloc_tensor(%2, i0, ...)
    _ = cls.add(x, y, alloc)               ->  call  %void = add(%0, %1, %3)
    return alloc                           ->  ret   %3

Functions come lowered (`relax.pipeline.lower_for_machine`): no operator is left but those of the
machine. Each binding has a register of its own, so that one name can be killed and another live.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm.error import CheckError
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.relax.exec_builder import ExecBuilder
from tvm.relax.expr import (
    Binding,
    Call,
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    PrimValue,
    SeqExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relax.final_binding import final_binding, is_kill, is_loop
from tvm.relax.struct_info import ShapeExpr, TupleStructInfo
from tvm.relax.vm.native import source_names
from tvm.relax.vm.native_flow import is_same_info
from tvm.runtime import bytecode as bc
from tvm.runtime.artefact import ValueInfo
from tvm.tir.function import PrimFunc

BUILTIN = "vm.builtin."


@dataclass
class BytecodeProgram:
    """What compiling to bytecode gives, beside the code: constants, and what is called."""

    bytecode: bc.Bytecode | None = None
    tensors: list[HostTensor] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    kernels: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def tensor_infos(self) -> tuple[ValueInfo, ...]:
        """Shapes and types of the constants."""
        return tuple(
            ValueInfo(f"constant_{i}", tuple(t.shape), str(t.dtype))
            for i, t in enumerate(self.tensors)
        )


def compile_bytecode(
    mod: IRModule,
    functions: Sequence[GlobalVar],
    builder: ExecBuilder | None = None,
    native: Collection[str] = (),
) -> BytecodeProgram:
    """Compile lowered Relax functions of a module, and those that they call.

    Functions with the names in `native` are kernels of the program.
    """
    builder = ExecBuilder() if builder is None else builder
    sources: dict[str, tuple[str, ...]] = {}
    done: set[GlobalVar] = set()
    stack = list(reversed(functions))
    while stack:
        var = stack.pop()
        func = mod.functions.get(var)
        if var in done or var.name_hint in native or not isinstance(func, Function):
            continue
        done.add(var)
        compiler = _FunctionCompiler(mod, var.name_hint, func, builder, sources)
        compiler.compile()
        stack.extend(reversed(compiler.callees))
    code = builder.bytecode()
    return BytecodeProgram(code, builder.tensors, list(code.func_table), list(sources.items()))


def _checks_params(binding: Binding) -> bool:
    """Whether a step is one of those that a lowered function begins with."""
    value = binding.value
    if not isinstance(value, Call) or binding.var.name_hint not in ("shape_heap", "_"):
        return False
    callee = value.op
    if isinstance(callee, ExternFunc):
        return callee.global_symbol.startswith((BUILTIN + "check_", BUILTIN + "match_"))
    return binding.var.name_hint == "shape_heap" or isinstance(callee, GlobalVar)


class _FunctionCompiler:
    def __init__(
        self,
        mod: IRModule,
        name: str,
        func: Function,
        builder: ExecBuilder,
        sources: dict[str, tuple[str, ...]],
    ) -> None:
        self._mod = mod
        self._name = name
        self._func = func
        self._ib = builder
        self._sources = sources
        self._registers: dict[Var, bc.Arg] = {}
        self._own = mod.get_global_var(name)
        self._start = 0
        self._next = len(func.params)
        self.callees: list[GlobalVar] = []

    def compile(self) -> None:
        """Write the function."""
        params = self._func.params
        names = [param.name_hint for param in params]
        with self._ib.function(self._name, len(params), names):
            for i, param in enumerate(params):
                self._registers[param] = bc.Reg(i)
            if is_loop(self._func, self._own):
                self._loop()
            else:
                self._ib.emit_ret(self._in_register(self._sequence(self._func.body)))

    # --- loops ---

    def _loop(self) -> None:
        """A function that ends by calling itself: the call is a jump to its start.

        The parameters are not checked again where what is passed has their sizes for sure.
        """
        rest = [binding for block in self._func.body.blocks for binding in block.bindings]
        while rest and _checks_params(rest[0]):
            self._binding(rest.pop(0))
        self._start = self._ib.position
        self._tail(self._func.body, rest)

    def _tail(self, seq: SeqExpr, bindings: Sequence[Binding]) -> None:
        """A sequence that gives the function its value."""
        final = final_binding(seq)
        value = None if final is None else final.value
        is_again = isinstance(value, Call) and value.op is self._own
        if final is None or not (is_again or isinstance(value, If)):
            for binding in bindings:
                self._binding(binding)
            self._ib.emit_ret(self._in_register(self._value(seq.body)))
            return
        at = next(i for i, binding in enumerate(bindings) if binding is final)
        for binding in bindings[:at]:
            self._binding(binding)
        if isinstance(value, If):
            cond = self._emit(BUILTIN + "read_if_cond", self._value(value.cond))
            jump = self._ib.position
            self._ib.emit_if(cond, 0)
            for i, branch in enumerate((value.true_branch, value.false_branch)):
                if i:
                    self._ib.patch(jump, bc.If(cond.index, self._ib.position - jump))
                self._tail(branch, [b for block in branch.blocks for b in block.bindings])
            return
        assert isinstance(value, Call), "the other form of an end"
        self._again(value)
        for binding in bindings[at + 1 :]:
            if is_kill(binding):
                self._binding(binding)
        params = self._func.params
        fits = all(is_same_info(p.struct_info, a.struct_info) for p, a in zip(params, value.args))
        self._ib.emit_goto((self._start if fits else 0) - self._ib.position)

    def _again(self, call: Call) -> None:
        """The parameters get their next values, all at once."""
        moves: list[tuple[bc.Reg, bc.Arg]] = []
        for i, arg in enumerate(call.args):
            value = self._value(arg)
            if value == bc.Reg(i):
                continue
            if isinstance(value, bc.Reg) and 0 <= value.index < len(call.args):
                value = self._emit(BUILTIN + "copy", value)
            moves.append((bc.Reg(i), value))
        for target, value in moves:
            self._ib.emit_call(BUILTIN + "copy", [value], target)

    # --- instructions ---

    def _fresh(self) -> bc.Reg:
        register = bc.Reg(self._next)
        self._next += 1
        return register

    def _emit(self, name: str, *args: bc.Arg) -> bc.Reg:
        dst = self._fresh()
        self._ib.emit_call(name, args, dst)
        return dst

    def _in_register(self, arg: bc.Arg) -> bc.Reg:
        if isinstance(arg, bc.Reg) and arg.index >= 0:
            return arg
        return self._emit(BUILTIN + "copy", arg)

    # --- values ---

    def _sequence(self, seq: SeqExpr) -> bc.Arg:
        for block in seq.blocks:
            for binding in block.bindings:
                self._binding(binding)
        return self._value(seq.body)

    def _binding(self, binding: Binding) -> None:
        """Another name for a value is a register of its own: either may be killed alone."""
        value = self._value(binding.value, binding)
        if isinstance(binding.value, Var) and isinstance(value, bc.Reg) and value.index >= 0:
            value = self._emit(BUILTIN + "copy", value)
        self._registers[binding.var] = value

    def _value(self, expr: RelaxExpr, binding: Binding | None = None) -> bc.Arg:
        if isinstance(expr, Var):
            return self._registers[expr]
        if isinstance(expr, Constant):
            return self._ib.convert_constant(expr.data)
        if isinstance(expr, Tuple):
            fields = [self._value(one) for one in expr.fields]
            return self._emit(BUILTIN + "make_tuple", *fields)
        if isinstance(expr, TupleGetItem):
            whole = self._value(expr.tuple_value)
            return self._emit(BUILTIN + "tuple_getitem", whole, bc.Imm(expr.index))
        if isinstance(expr, ShapeExpr):
            return self._ib.convert_constant([self._number(e, expr) for e in expr.values])
        if isinstance(expr, PrimValue):
            return self._ib.convert_constant(self._number(expr.value, expr))
        if isinstance(expr, StringImm):
            return self._ib.convert_constant(str(expr.value))
        if isinstance(expr, DataTypeImm):
            return self._ib.convert_constant(expr.value)
        if isinstance(expr, (GlobalVar, ExternFunc)):
            return bc.Func(self._ib.function_index(self._symbol(expr)))
        if isinstance(expr, If):
            return self._branch(expr)
        if isinstance(expr, SeqExpr):
            return self._sequence(expr)
        if isinstance(expr, Call):
            return self._call(expr, binding)
        raise CheckError(f"{self._name}: a {type(expr).__name__} cannot be compiled to bytecode")

    def _number(self, value: Any, where: RelaxExpr) -> Any:
        number = getattr(value, "value", None)
        if not isinstance(number, (int, float)):
            raise CheckError(
                f"{self._name}: {where} has a symbolic size; lower it first "
                "(tvm.relax.transform.VMShapeLower)"
            )
        if isinstance(number, int) and str(getattr(value, "dtype", "")) == "bool":
            return bool(number)
        return number

    def _symbol(self, func: RelaxExpr) -> str:
        if isinstance(func, GlobalVar):
            known = self._mod.functions.get(func)
            if isinstance(known, ExternFunc):
                return known.global_symbol
            self.callees.append(func)
            return func.name_hint
        assert isinstance(func, ExternFunc), "a packed function has a name"
        return func.global_symbol

    def _branch(self, expr: If) -> bc.Arg:
        cond = self._emit(BUILTIN + "read_if_cond", self._value(expr.cond))
        result = self._fresh()
        jump = self._ib.position
        self._ib.emit_if(cond, 0)
        self._ib.emit_call(BUILTIN + "copy", [self._sequence(expr.true_branch)], result)
        leave = self._ib.position
        self._ib.emit_goto(0)
        self._ib.patch(jump, bc.If(cond.index, self._ib.position - jump))
        self._ib.emit_call(BUILTIN + "copy", [self._sequence(expr.false_branch)], result)
        self._ib.patch(leave, bc.Goto(self._ib.position - leave))
        return result

    # --- calls ---

    def _call(self, call: Call, binding: Binding | None) -> bc.Arg:
        callee = call.op
        if isinstance(callee, Op):
            return self._operator(callee.name, call)
        if isinstance(callee, (GlobalVar, ExternFunc)):
            name = self._symbol(callee)
            if isinstance(callee, GlobalVar):
                self._note_sources(callee, name, call, binding)
            args = [self._value(arg) for arg in call.args]
            return self._call_named(name, args, call)
        args = [self._value(arg) for arg in call.args]
        invoke = BUILTIN + "invoke_closure"
        return self._emit(invoke, self._ib.vm_state(), self._value(callee), *args)

    def _call_named(self, name: str, args: Sequence[bc.Arg], call: Call) -> bc.Arg:
        info = call.struct_info_
        if isinstance(info, TupleStructInfo) and not info.fields:  # done for its effects
            self._ib.emit_call(name, args)
            return self._ib.void_arg()
        return self._emit(name, *args)

    def _note_sources(
        self, callee: GlobalVar, name: str, call: Call, binding: Binding | None
    ) -> None:
        """Remember which operators of the model a kernel came from."""
        if isinstance(self._mod.functions.get(callee), PrimFunc):
            span = call.span or (binding.span if binding is not None else None)
            known = self._sources.get(name, ())
            self._sources[name] = tuple(dict.fromkeys([*known, *source_names(span)]))

    def _operator(self, name: str, call: Call) -> bc.Arg:
        args = call.args
        if name == "relax.call_builtin_with_ctx":
            fields = args[1].fields if isinstance(args[1], Tuple) else (args[1],)
            given = [self._ib.vm_state(), *(self._value(one) for one in fields)]
            return self._call_named(self._symbol(args[0]), given, call)
        if name == "relax.vm.alloc_storage":
            given = [self._ib.vm_state(), *(self._value(one) for one in args)]
            return self._emit(BUILTIN + "alloc_storage", *given)
        if name == "relax.vm.alloc_tensor":
            return self._emit(BUILTIN + "alloc_tensor", *(self._value(one) for one in args))
        if name == "relax.vm.kill_object":
            killed = self._value(args[0])
            if isinstance(killed, bc.Reg) and killed.index >= len(self._func.params):
                self._ib.emit_call(BUILTIN + "null_value", [], killed)
            return self._ib.void_arg()
        if name == "relax.null_value":
            return self._ib.void_arg()
        raise CheckError(
            f"{self._name}: operator {name} has no code of its own; legalize it first "
            "(tvm.relax.transform.LegalizeOps)"
        )
