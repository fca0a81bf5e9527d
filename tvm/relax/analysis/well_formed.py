"""Is a Relax program well formed? Each rule that is broken gives a diagnostic with its location."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from tvm.error import CheckError, TVMError
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.relax.base_expr import Id
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.derive import derive_call_ret_struct_info
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    ExternFunc,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relax.normalize import infer_call, is_leaf, is_leaf_or_tuple
from tvm.relax.prim_func_info import prim_func_struct_info
from tvm.relax.struct_info import FuncStructInfo, ShapeStructInfo, TupleStructInfo
from tvm.relax.struct_info_rules import (
    BaseCheckResult,
    base_check,
    definable_tir_vars_in_struct_info,
    is_base_of,
    shape_exprs,
    tir_vars_in,
)
from tvm.support.arguments import explained
from tvm.tir import expr as tir
from tvm.tir.function import PrimFunc

from .call_tir_fits import inplace_faults, is_kernel_call, kernel_call_faults
from .purity import find_impure_call

_LOG = logging.getLogger("tvm.relax")


@explained
def well_formed(obj: IRModule | Function, check_struct_info: bool = True) -> bool:
    """True when the module or function keeps all rules; what it breaks is logged as warnings.

    Without `check_struct_info`, variables need none, and theirs is not looked at; nor is purity,
    which follows from it. Calls and branches need theirs. All other rules hold.
    """
    faults = faults_of(obj, check_struct_info)
    for fault in faults:
        _LOG.warning("This IR is not well formed: %s", fault)
    return not faults


def faults_of(obj: IRModule | Function, check_struct_info: bool = True) -> list[str]:
    """A sentence for each rule that the module or function breaks."""
    if isinstance(obj, Function):
        return list(_Checker(None, check_struct_info).function(obj, "the function"))
    faults = list(_module_faults(obj))
    checker = _Checker(obj, check_struct_info)
    for var, func in obj.functions_items():
        if isinstance(func, Function):
            faults.extend(checker.function(func, var.name_hint, var))
    return faults


def _module_faults(mod: IRModule) -> Iterator[str]:
    for var, func in mod.functions_items():
        if not isinstance(func, Function):
            continue  # lowering gives kernels the symbols of the calling convention
        symbol = func.attrs.get("global_symbol")
        if symbol is not None and str(symbol) != var.name_hint:
            yield (
                f"{var.name_hint}: its global_symbol is {symbol!r}; "
                "a function that is public has its own name as global symbol"
            )


# What is never one bool; of a tensor and of an object the value is looked at as the program runs.
_NO_CONDITIONS: Final = (TupleStructInfo, ShapeStructInfo, FuncStructInfo)


class _Checker:
    """Walks one function after the other; scopes are sets that grow along the bindings."""

    def __init__(self, mod: IRModule | None, check_struct_info: bool) -> None:
        self.mod = mod
        self.check_struct_info = check_struct_info
        self.bound: set[Id] = set()
        self.symbol_homes: dict[tir.Var, str] = {}
        self.signatures: dict[RelaxExpr, StructInfo] = {}
        self.where = ""
        self.pure = True
        self.bb = BlockBuilder(mod)

    def function(
        self, func: Function, where: str, own: GlobalVar | Var | None = None
    ) -> Iterator[str]:
        """The faults of a function of the module, or of a free one."""
        self.where = where
        yield from self._function(func, set(), set(), own)

    def _function(
        self,
        func: Function,
        known: set[Id],
        symbols: set[tir.Var],
        own: GlobalVar | Var | None,
    ) -> Iterator[str]:
        inner, dims = set(known), set(symbols)
        for param in func.params:
            yield from self._bind(param, inner)
            if isinstance(param, DataflowVar):
                yield self._say(f"parameter {param.name_hint!r} is a DataflowVar")
            if param.struct_info_ is None:
                yield from self._missing(f"parameter {param.name_hint!r} has no struct info")
            else:
                yield from self._define(
                    definable_tir_vars_in_struct_info(param.struct_info_), dims
                )
        for param in func.params:
            if param.struct_info_ is not None and self.check_struct_info:
                yield from self._symbols(_exprs_in_scope(param.struct_info_), dims, param.name_hint)
        yield from self._symbols(_exprs_in_scope(func.ret_struct_info), dims, "the result")
        forced = bool(func.attrs.get("relax.force_pure"))
        if forced and not func.is_pure:
            yield self._say("it has the attribute relax.force_pure and is not declared pure")
        if func.is_pure and not forced and self.check_struct_info:
            impure = find_impure_call(func, own)
            if impure is not None:
                yield self._say(f"it is declared pure and has an impure call: {impure}")
        yield from self._seq(func.body, inner, dims)

    def _seq(self, seq: RelaxExpr, known: set[Id], dims: set[tir.Var]) -> Iterator[str]:
        if not isinstance(seq, SeqExpr):
            yield self._say(f"a body is a SeqExpr, found {type(seq).__name__}")
            return
        for block in seq.blocks:
            yield from self._block(block, known, dims)
        if not is_leaf_or_tuple(seq.body):
            yield self._say(f"the result of a sequence is a variable or leaf, found {seq.body}")
        yield from self._use(seq.body, known, dims)
        if seq.struct_info_ is None:
            yield from self._missing("a sequence has no struct info")

    def _block(
        self, block: BindingBlock, known: set[Id], dims: set[tir.Var]
    ) -> Iterator[str]:
        dataflow = isinstance(block, DataflowBlock)
        local: list[Id] = []
        for binding in block.bindings:
            yield from self._binding(binding, known, dims, dataflow)
            if isinstance(binding.var, DataflowVar):
                if not dataflow:
                    yield self._say(
                        f"DataflowVar {binding.var.name_hint!r} is bound outside a dataflow block"
                    )
                local.append(binding.var.vid)
        known.difference_update(local)

    def _binding(
        self, binding: Binding, known: set[Id], dims: set[tir.Var], dataflow: bool
    ) -> Iterator[str]:
        value, var = binding.value, binding.var
        if isinstance(value, Function):
            yield from self._bind(var, known)  # it may call itself
            yield from self._function(value, known, dims, var)
        else:
            if dataflow and isinstance(value, If):
                yield self._say(f"{var.name_hint!r}: a branch stands in a dataflow block")
            checks = dataflow and self.check_struct_info and isinstance(value, Call)
            if checks and find_impure_call(value) is not None:
                yield self._say(
                    f"{var.name_hint!r}: an impure call stands in a dataflow block: {value}"
                )
            yield from self._value(value, known, dims)
            yield from self._bind(var, known)
        if isinstance(binding, MatchCast):
            yield from self._define(definable_tir_vars_in_struct_info(binding.struct_info), dims)
            yield from self._symbols(_exprs_in_scope(binding.struct_info), dims, var.name_hint)
        yield from self._fits(binding, dims)

    def _fits(self, binding: Binding, dims: set[tir.Var]) -> Iterator[str]:
        var = binding.var
        if var.struct_info_ is None:
            yield from self._missing(f"variable {var.name_hint!r} has no struct info")
            return
        if not self.check_struct_info:
            return
        yield from self._symbols(_exprs_in_scope(var.struct_info_), dims, var.name_hint)
        given = binding.value.struct_info_
        if isinstance(binding, MatchCast) or given is None:
            return
        if not is_base_of(var.struct_info_, given, self.bb.analyzer):
            yield self._say(
                f"variable {var.name_hint!r} is {var.struct_info_}, its value is {given}; "
                "legal: a value that is all of this, or a match_cast"
            )

    def _value(
        self, value: RelaxExpr, known: set[Id], dims: set[tir.Var]
    ) -> Iterator[str]:
        if isinstance(value, If):
            if not is_leaf(value.cond):
                yield self._say(f"a condition is no variable: {value.cond}")
            if isinstance(value.cond.struct_info_, _NO_CONDITIONS):
                yield self._say(f"a condition is {value.cond.struct_info_}: {value.cond}")
            yield from self._use(value.cond, known, dims)
            yield from self._seq(value.true_branch, set(known), set(dims))
            yield from self._seq(value.false_branch, set(known), set(dims))
        elif isinstance(value, SeqExpr):
            yield self._say("a sequence is the body of a function or of a branch, and no value")
            yield from self._seq(value, set(known), set(dims))
        else:
            yield from self._use(value, known, dims)
        if value.struct_info_ is None and isinstance(value, (Call, If)):
            yield self._say(f"no struct info is known of {value}")
        elif value.struct_info_ is None and not isinstance(value, Op):
            yield from self._missing(f"no struct info is known of {value}")
        elif isinstance(value, Call) and self.check_struct_info:
            yield from self._derived(value)

    def _derived(self, call: Call) -> Iterator[str]:
        """What a call is said to be must be what its rule derives."""
        try:
            found = self._infer(call)
        except TVMError as err:
            yield self._say(f"the struct info of {call} cannot be derived: {err}")
            return
        if base_check(call.struct_info, found) is BaseCheckResult.FAIL_L0:
            yield self._say(f"{call} is said to be {call.struct_info}, and is {found}")
        if is_kernel_call(call):
            for fault in inplace_faults(call):
                yield self._say(f"{call}: {fault}")
            signature = self._signature(call.args[0])
            if isinstance(signature, FuncStructInfo):
                for fault in kernel_call_faults(call, signature, self.bb.analyzer):
                    yield self._say(f"{call}: {fault}")

    def _infer(self, call: Call) -> StructInfo:
        """What the callee's rule says; a function of the module is asked, not its variable.

        Passes give a function another signature and keep its variable, which modules share.
        """
        if not isinstance(call.op, GlobalVar):
            return infer_call(self.bb, call)
        info = self._signature(call.op)
        if info is None:
            raise CheckError(f"the struct info of {call.op} is not known")
        return self.bb.erase(derive_call_ret_struct_info(info, call, self.bb))

    def _signature(self, callee: RelaxExpr) -> StructInfo | None:
        func = None
        if isinstance(callee, GlobalVar) and self.mod is not None:
            func = self.mod.functions.get(callee)
        if func is None:
            return callee.struct_info_
        if callee not in self.signatures:
            info = prim_func_struct_info(func) if isinstance(func, PrimFunc) else func.struct_info
            self.signatures[callee] = info
        return self.signatures[callee]

    def _use(self, expr: RelaxExpr, known: set[Id], dims: set[tir.Var]) -> Iterator[str]:
        """An operand, or a call of operands, all of whose variables must be bound."""
        stack = [expr]
        while stack:
            node = stack.pop()
            if isinstance(node, Var):
                if node.vid not in known:
                    yield self._say(f"variable {node.name_hint!r} is used and not bound here")
            elif isinstance(node, GlobalVar):
                if self.mod is not None and node not in self.mod.functions:
                    yield self._say(f"the module has no function {node.name_hint!r}")
            elif isinstance(node, (Tuple, Call, TupleGetItem)):
                parts = _parts(node)
                for part in parts:
                    if not is_leaf_or_tuple(part):
                        yield self._say(f"an operand is no variable or leaf: {part}")
                stack.extend(parts)
                if isinstance(node, Call):
                    yield from self._operator_form(node)
                    for info in node.sinfo_args:
                        exprs = _exprs_in_scope(info)
                        yield from self._symbols(exprs, dims, "a struct info argument")
            elif not isinstance(node, (ExternFunc, Op)) and node.struct_info_ is not None:
                exprs = _exprs_in_scope(node.struct_info_)
                yield from self._symbols(exprs, dims, type(node).__name__)

    def _operator_form(self, call: Call) -> Iterator[str]:
        """A call must be in the form that the operator's own rule brings it into."""
        rule = call.op.get_attr("FNormalize") if isinstance(call.op, Op) else None
        if rule is None:
            return
        try:
            normal = rule(self.bb, call)
        except (TVMError, ValueError, TypeError) as err:
            yield self._say(f"{call} cannot be brought into the form of its operator: {err}")
            return
        if normal is not call:
            yield self._say(f"{call} is not in the form of its operator (FNormalize): {normal}")

    def _symbols(
        self, exprs: Iterator[PrimExpr], dims: set[tir.Var], what: str
    ) -> Iterator[str]:
        for var in tir_vars_in(exprs):
            if var not in dims:
                yield self._say(f"symbol {var.name!r} is used in {what} and not defined")

    def _define(self, symbols: Sequence[tir.Var], dims: set[tir.Var]) -> Iterator[str]:
        for symbol in symbols:
            home = self.symbol_homes.setdefault(symbol, self.where)
            if home != self.where:
                yield self._say(
                    f"symbol {symbol.name!r} is one of {home} already; "
                    "each function has symbols of its own"
                )
        dims.update(symbols)

    def _bind(self, var: Var, known: set[Id]) -> Iterator[str]:
        if var.vid in self.bound:
            yield self._say(f"variable {var.name_hint!r} is bound twice")
        self.bound.add(var.vid)
        known.add(var.vid)

    def _missing(self, text: str) -> Iterator[str]:
        if self.check_struct_info:
            yield self._say(text)

    def _say(self, text: str) -> str:
        return f"{self.where}: {text}"


def _parts(node: Tuple | Call | TupleGetItem) -> Sequence[RelaxExpr]:
    if isinstance(node, Tuple):
        return node.fields
    return [node.op, *node.args] if isinstance(node, Call) else [node.tuple_value]


def _exprs_in_scope(info: StructInfo) -> Iterator[PrimExpr]:
    """The extents that symbols of the function stand in; a signature binds symbols of its own."""
    if isinstance(info, TupleStructInfo):
        for field in info.fields:
            yield from _exprs_in_scope(field)
    elif not isinstance(info, FuncStructInfo):
        yield from shape_exprs(info)
