"""A lowered Relax function as TIR over the machine's registers.

    z = R.call_packed("add", x, x)    ->   def __vmtir__main(ctx_ptr, r, c, f):
    return z                                   r[2] = call_packed("add", r[0], r[0])
                                               r[1] = call_packed("vm.builtin.copy", r[2])

`r` are the registers (parameters first, then the result), `c` the constants, `f` the functions of
the program; all are lists of any values. The constants' numbers are those of the bytecode, made in
the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.error import CheckError
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr
from tvm.ir.function import BaseFunc
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
from tvm.relax.struct_info import ShapeExpr, TupleStructInfo
from tvm.runtime import bytecode as bc
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin

MACHINE_PREFIX: Final = "__vmtir__"
_BUILTIN: Final = "vm.builtin."


def machine_tir(mod: IRModule) -> dict[GlobalVar, BaseFunc]:
    """The TIR form of every Relax function of a module."""
    tables = ExecBuilder()
    made: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if isinstance(func, Function):
            name = MACHINE_PREFIX + str(func.attrs.get("global_symbol", var.name_hint))
            made[GlobalVar(name)] = _Writer(mod, name, func, tables).function()
    return made


class _Writer:
    def __init__(self, mod: IRModule, name: str, func: Function, tables: ExecBuilder) -> None:
        self._mod = mod
        self._name = name
        self._func = func
        self._tables = tables
        names = ("ctx_ptr", "r", "c", "f")
        self._params = [e.Var(name, "handle") for name in names]
        self._context, self._r, self._c, self._f = self._params
        self._values: dict[Var, PrimExpr] = {}
        self._next = 0
        self._stmts: list[s.Stmt] = []

    def function(self) -> PrimFunc:
        """The function; register n behind n parameters takes the result."""
        for param in self._func.params:
            self._values[param] = self._register(self._fresh())
        result = self._fresh()
        self._call_packed(_BUILTIN + "copy", [self._sequence(self._func.body)], result)
        body = s.SeqStmt.flatten(self._stmts)
        return PrimFunc(self._params, body, None, None, {"global_symbol": self._name})

    def _fresh(self) -> int:
        self._next += 1
        return self._next - 1

    def _item(self, values: e.Var, index: int) -> PrimExpr:
        return builtin.anylist_getitem(values, ops.const(index, "int32"))

    def _register(self, index: int) -> PrimExpr:
        return self._item(self._r, index)

    def _emit(self, expr: PrimExpr) -> None:
        self._stmts.append(s.Evaluate(expr))

    def _call_packed(self, name: str, args: Sequence[PrimExpr], dst: int = -1) -> None:
        """Call a packed function; its result goes into a register, or nowhere."""
        text = e.StringImm(name)
        if dst < 0:
            self._emit(e.Call("int32", Op.get("tir.tvm_call_packed"), [text, *args]))
        else:
            into = [self._r, ops.const(dst, "int32")]
            op = Op.get("tir.anylist_setitem_call_packed")
            self._emit(e.Call("int32", op, [*into, text, *args]))

    def _call_kernel(self, name: str, args: Sequence[PrimExpr], dst: int) -> None:
        """Call a function of the same library; the last argument is room for its handle."""
        nothing = builtin.reinterpret("handle", ops.const(0, "int64"))
        all_args = [e.StringImm(name), *args, nothing]
        if dst < 0:
            self._emit(e.Call("int32", Op.get("tir.tvm_call_cpacked"), all_args))
        else:
            into = [self._r, ops.const(dst, "int32")]
            op = Op.get("tir.anylist_setitem_call_cpacked")
            self._emit(e.Call("int32", op, [*into, *all_args]))

    # --- values ---

    def _sequence(self, seq: SeqExpr) -> PrimExpr:
        for block in seq.blocks:
            for binding in block.bindings:
                self._bind(binding)
        return self._value(seq.body)

    def _bind(self, binding: Binding) -> None:
        value = self._value(binding.value)
        if isinstance(binding.value, Var):
            dst = self._fresh()
            self._call_packed(_BUILTIN + "copy", [value], dst)
            value = self._register(dst)
        self._values[binding.var] = value

    def _value(self, expr: RelaxExpr) -> PrimExpr:
        if isinstance(expr, Var):
            return self._values[expr]
        if isinstance(expr, Constant):
            return self._constant(expr.data)
        if isinstance(expr, ShapeExpr):
            return self._constant([int(getattr(v, "value", -1)) for v in expr.values])
        if isinstance(expr, PrimValue):
            return expr.value
        if isinstance(expr, (StringImm, DataTypeImm)):
            return self._constant(expr.value)
        if isinstance(expr, Tuple):
            return self._packed_value("make_tuple", expr.fields)
        if isinstance(expr, TupleGetItem):
            index = PrimValue(ops.const(expr.index, "int64"))
            return self._packed_value("tuple_getitem", [expr.tuple_value, index])
        if isinstance(expr, (GlobalVar, ExternFunc)):
            name = expr.name_hint if isinstance(expr, GlobalVar) else expr.global_symbol
            return self._item(self._f, self._tables.function_index(name))
        if isinstance(expr, If):
            return self._branch(expr)
        if isinstance(expr, SeqExpr):
            return self._sequence(expr)
        if isinstance(expr, Call):
            return self._call(expr)
        raise CheckError(f"{self._name}: a {type(expr).__name__} has no form over registers")

    def _constant(self, value: object) -> PrimExpr:
        kept = self._tables.convert_constant(value)
        assert isinstance(kept, bc.Const), "numbers have a form of their own"
        return self._item(self._c, kept.index)

    def _packed_value(
        self, name: str, args: Sequence[RelaxExpr], first: Sequence[PrimExpr] = ()
    ) -> PrimExpr:
        """The result of a function of the machine; its register comes before those of operands."""
        dst = self._fresh()
        self._call_packed(_BUILTIN + name, [*first, *map(self._value, args)], dst)
        return self._register(dst)

    def _branch(self, expr: If) -> PrimExpr:
        read = [e.StringImm(_BUILTIN + "read_if_cond"), self._value(expr.cond)]
        cond = e.Call("bool", Op.get("tir.tvm_call_packed"), read)
        merged = self._fresh()
        before, bodies = self._stmts, []
        for branch in (expr.true_branch, expr.false_branch):
            self._stmts = []
            self._call_packed(_BUILTIN + "copy", [self._sequence(branch)], merged)
            bodies.append(s.SeqStmt.flatten(self._stmts))
        self._stmts = before
        self._stmts.append(s.IfThenElse(cond, bodies[0], bodies[1]))
        return self._register(merged)

    # --- calls ---

    def _call(self, call: Call) -> PrimExpr:
        callee = call.op
        if isinstance(callee, Op):
            return self._operator(callee.name, call)
        info = call.struct_info_
        void = isinstance(info, TupleStructInfo) and not info.fields
        dst = -1 if void else self._fresh()
        args = [self._value(arg) for arg in call.args]
        if isinstance(callee, ExternFunc):
            self._call_packed(callee.global_symbol, args, dst)
        elif isinstance(callee, GlobalVar):
            known = self._mod.functions.get(callee)
            if isinstance(known, PrimFunc):
                symbol = str(known.attrs.get("global_symbol", callee.name_hint))
                self._call_kernel(symbol, args, dst)
            elif isinstance(known, Function):
                everything = [self._context, self._value(callee), *args]
                self._call_packed(_BUILTIN + "invoke_closure", everything, dst)
            else:
                self._call_packed(callee.name_hint, args, dst)
        else:
            everything = [self._context, self._value(callee), *args]
            self._call_packed(_BUILTIN + "invoke_closure", everything, dst)
        return self._void() if void else self._register(dst)

    def _void(self) -> PrimExpr:
        return builtin.reinterpret("handle", ops.const(0, "int64"))

    def _operator(self, name: str, call: Call) -> PrimExpr:
        args = call.args
        if name == "relax.call_builtin_with_ctx":
            callee, operands = args[0], args[1]
            assert isinstance(callee, ExternFunc), "a function of the machine has a name"
            fields = operands.fields if isinstance(operands, Tuple) else (operands,)
            dst = self._fresh()
            given = [self._context, *(self._value(one) for one in fields)]
            self._call_packed(callee.global_symbol, given, dst)
            return self._register(dst)
        if name == "relax.vm.alloc_storage":
            return self._packed_value("alloc_storage", args, [self._context])
        if name == "relax.vm.alloc_tensor":
            return self._packed_value("alloc_tensor", args)
        if name == "relax.vm.kill_object":
            killed = self._value(args[0])
            if isinstance(killed, e.Call) and killed.args[0] is self._r:
                self._call_packed(_BUILTIN + "null_value", [], killed.args[1].value)
            return self._void()
        if name == "relax.null_value":
            return self._void()
        raise CheckError(
            f"{self._name}: operator {name} has no code of its own; legalize it first "
            "(tvm.relax.transform.LegalizeOps)"
        )
