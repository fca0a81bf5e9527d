"""Walks over Relax: a visitor for questions, a mutator for rewrites.

Both visit bindings with a loop, so the length of a function does not matter. The mutator emits what
it makes through a `BlockBuilder`, which keeps it in normal form with struct info.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.node import Node, of_type
from tvm.ir.op import Op
from tvm.ir.span import Span
from tvm.ir.structural import structural_equal
from tvm.support.checkpoint import checkpoint
from tvm.support.derived import derived

from .base_expr import Id
from .block_builder import BlockBuilder
from .expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
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
    VarBinding,
    as_seq,
)
from .normalize import normal_seq
from .struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from .struct_info_rules import result_after_rewrite

R = TypeVar("R")
C = TypeVar("C", bound=type)


def visitor(cls: C) -> C:
    """Marks a visitor class; `_cls` of it is the class as written."""
    _check_functor(cls)
    return derived(cls)


def mutator(cls: C) -> C:
    """Marks a mutator class; `_cls` of it is the class as written."""
    _check_functor(cls)
    return derived(cls)


def _check_functor(cls: type) -> None:
    if not (isinstance(cls, type) and issubclass(cls, ExprFunctor)):
        raise AssertionError(  # as in v0.22
            f"Please use the user-facing method overriding class, found {cls!r}; "
            "legal: a class that inherits from PyExprVisitor or PyExprMutator"
        )


class ExprFunctor(Generic[R]):
    """One method a kind of expression; `visit_expr` finds the right one."""

    def visit_expr(self, expr: RelaxExpr) -> R:
        """Call the method for the kind of `expr`."""
        rule = _RULES.get(type(expr))
        if rule is None:
            return self.visit_default_(expr)
        return cast(R, rule(self, expr))

    def visit_default_(self, expr: RelaxExpr) -> R:
        """Called for an expression that has no method of its own here."""
        raise TypeError(f"{type(self).__name__} has no rule for {type(expr).__name__}")

    def visit_constant_(self, op: Constant) -> R:
        return self.visit_default_(op)

    def visit_tuple_(self, op: Tuple) -> R:
        return self.visit_default_(op)

    def visit_var_(self, op: Var) -> R:
        return self.visit_default_(op)

    def visit_dataflow_var_(self, op: DataflowVar) -> R:
        return self.visit_var_(op)

    def visit_shape_expr_(self, op: ShapeExpr) -> R:
        return self.visit_default_(op)

    def visit_extern_func_(self, op: ExternFunc) -> R:
        return self.visit_default_(op)

    def visit_global_var_(self, op: GlobalVar) -> R:
        return self.visit_default_(op)

    def visit_function_(self, op: Function) -> R:
        return self.visit_default_(op)

    def visit_call_(self, op: Call) -> R:
        return self.visit_default_(op)

    def visit_seq_expr_(self, op: SeqExpr) -> R:
        return self.visit_default_(op)

    def visit_if_(self, op: If) -> R:
        return self.visit_default_(op)

    def visit_op_(self, op: Op) -> R:
        return self.visit_default_(op)

    def visit_tuple_getitem_(self, op: TupleGetItem) -> R:
        return self.visit_default_(op)

    def visit_prim_value_(self, op: PrimValue) -> R:
        return self.visit_default_(op)

    def visit_string_imm_(self, op: StringImm) -> R:
        return self.visit_default_(op)

    def visit_data_type_imm_(self, op: DataTypeImm) -> R:
        return self.visit_default_(op)

    # --- bindings and blocks: a subclass says what they give ---

    def visit_binding(self, binding: Binding) -> Any:
        """Call the method for the kind of binding."""
        checkpoint("the rest of the graph")
        if isinstance(binding, MatchCast):
            return self.visit_match_cast_(binding)
        return self.visit_var_binding_(cast(VarBinding, binding))

    def visit_binding_block(self, block: BindingBlock) -> Any:
        """Call the method for the kind of block."""
        if isinstance(block, DataflowBlock):
            return self.visit_dataflow_block_(block)
        return self.visit_binding_block_(block)

    def visit_var_def(self, var: Var) -> Any:
        """Call the method for the kind of variable, where it is bound."""
        if isinstance(var, DataflowVar):
            return self.visit_dataflow_var_def_(var)
        return self.visit_var_def_(var)

    def visit_var_binding_(self, binding: VarBinding) -> Any:
        return self._no_rule(binding)

    def visit_match_cast_(self, binding: MatchCast) -> Any:
        return self._no_rule(binding)

    def visit_binding_block_(self, block: BindingBlock) -> Any:
        return self._no_rule(block)

    def visit_dataflow_block_(self, block: DataflowBlock) -> Any:
        return self._no_rule(block)

    def visit_var_def_(self, var: Var) -> Any:
        return self._no_rule(var)

    def visit_dataflow_var_def_(self, var: DataflowVar) -> Any:
        return self.visit_var_def_(var)

    def _no_rule(self, node: Node) -> Any:
        raise TypeError(f"{type(self).__name__} has no rule for {type(node).__name__}")


_RULES: Final[dict[type, Callable[[Any, Any], Any]]] = {
    Constant: lambda f, e: f.visit_constant_(e),
    Tuple: lambda f, e: f.visit_tuple_(e),
    Var: lambda f, e: f.visit_var_(e),
    DataflowVar: lambda f, e: f.visit_dataflow_var_(e),
    ShapeExpr: lambda f, e: f.visit_shape_expr_(e),
    ExternFunc: lambda f, e: f.visit_extern_func_(e),
    GlobalVar: lambda f, e: f.visit_global_var_(e),
    Function: lambda f, e: f.visit_function_(e),
    Call: lambda f, e: f.visit_call_(e),
    SeqExpr: lambda f, e: f.visit_seq_expr_(e),
    If: lambda f, e: f.visit_if_(e),
    Op: lambda f, e: f.visit_op_(e),
    TupleGetItem: lambda f, e: f.visit_tuple_getitem_(e),
    PrimValue: lambda f, e: f.visit_prim_value_(e),
    StringImm: lambda f, e: f.visit_string_imm_(e),
    DataTypeImm: lambda f, e: f.visit_data_type_imm_(e),
}


class PyExprVisitor(ExprFunctor[None]):
    """Visits everything; a subclass overrides the kinds it cares for.

    Of an expression first its parts, then the expressions in its struct info: the shape, and
    variables that hold one. Where a variable is bound, its struct info is not looked into.
    """

    _sees_shapes: ClassVar[bool] = False  # whether anything would see what is visited

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._sees_shapes = any(
            getattr(cls, name) is not getattr(PyExprVisitor, name) for name in _SEEING_SHAPES
        )

    def visit_default_(self, expr: RelaxExpr) -> None:
        of_type(expr, RelaxExpr, "what is visited")
        self.visit_span(expr.span)
        if not isinstance(expr, Constant):  # its shape is its own
            self._visit_known(expr.struct_info_)

    def visit_dataflow_var_(self, op: DataflowVar) -> None:
        # not `visit_var_`: a visitor that wants both kinds of variables says so
        self.visit_default_(op)

    def _visit_known(self, info: StructInfo | None) -> None:
        if info is not None and self._sees_shapes:
            self.visit_struct_info(info)

    def visit_span(self, span: Span | None) -> None:
        """Called for the span of each expression; None where there is none."""

    def visit_prim_expr(self, expr: PrimExpr) -> None:
        """Called for each extent and number."""

    def visit_struct_info(self, info: StructInfo) -> None:
        """Visit the extents of a struct info, and variables that hold a shape."""
        if isinstance(info, TensorStructInfo):
            if info.shape is not None:
                self.visit_expr(info.shape)
        elif isinstance(info, ShapeStructInfo):
            for value in info.values or ():
                self.visit_prim_expr(value)
        elif isinstance(info, PrimStructInfo):
            if info.value is not None:
                self.visit_prim_expr(info.value)
        elif isinstance(info, TupleStructInfo):
            for field in info.fields:
                self.visit_struct_info(field)

    def visit_tuple_(self, op: Tuple) -> None:
        self.visit_span(op.span)
        for field in op.fields:
            self.visit_expr(field)
        self._visit_known(op.struct_info_)

    def visit_shape_expr_(self, op: ShapeExpr) -> None:
        self.visit_span(op.span)
        for value in op.values:
            self.visit_prim_expr(value)

    def visit_prim_value_(self, op: PrimValue) -> None:
        self.visit_span(op.span)
        self.visit_prim_expr(op.value)

    def visit_call_(self, op: Call) -> None:
        self.visit_span(op.span)
        self.visit_expr(op.op)
        for info in op.sinfo_args:
            self.visit_struct_info(info)
        for arg in op.args:
            self.visit_expr(arg)
        self._visit_known(op.struct_info_)

    def visit_tuple_getitem_(self, op: TupleGetItem) -> None:
        self.visit_span(op.span)
        self.visit_expr(op.tuple_value)
        self._visit_known(op.struct_info_)

    def visit_if_(self, op: If) -> None:
        self.visit_span(op.span)
        self.visit_expr(op.cond)
        self.visit_expr(op.true_branch)
        self.visit_expr(op.false_branch)
        self._visit_known(op.struct_info_)

    def visit_seq_expr_(self, op: SeqExpr) -> None:
        self.visit_span(op.span)
        for block in op.blocks:
            self.visit_binding_block(block)
        self.visit_expr(op.body)
        self._visit_known(op.struct_info_)

    def visit_function_(self, op: Function) -> None:
        self.visit_span(op.span)
        for param in op.params:
            self.visit_var_def(param)
        self.visit_expr(op.body)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        self.visit_expr(binding.value)
        self.visit_struct_info(binding.struct_info)
        self.visit_var_def(binding.var)

    def visit_binding_block_(self, block: BindingBlock) -> None:
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_dataflow_block_(self, block: DataflowBlock) -> None:
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_var_def_(self, var: Var) -> None:
        self.visit_span(var.span)


_SEEING_SHAPES: Final = (
    "visit_expr", "visit_default_", "visit_var_", "visit_dataflow_var_", "visit_shape_expr_",
    "visit_struct_info", "visit_prim_expr", "visit_span",
)  # fmt: skip


class PyExprMutator(ExprFunctor[RelaxExpr]):
    """Rebuilds what its rules change, in normal form; returns the same object where nothing does.

    New bindings may be emitted through `self.builder_` at any point. A binding whose value gets
    another struct info gets a new variable with the same id, which replaces the old one below.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.builder_ = BlockBuilder(mod)
        self._var_remap: dict[Id, Var] = {}
        self._keeps_dims = type(self).visit_prim_expr is PyExprMutator.visit_prim_expr
        self._keeps_shapes = (
            self._keeps_dims
            and type(self).visit_shape_expr_ is PyExprMutator.visit_shape_expr_
        )
        self._keeps_vars = type(self).visit_var_ is PyExprMutator.visit_var_

    # --- expressions ---

    def visit_expr(self, expr: RelaxExpr) -> RelaxExpr:
        """The rewritten expression in normal form."""
        rule = _RULES.get(type(expr))
        new = self.visit_default_(expr) if rule is None else rule(self, expr)
        return self.builder_.normalize(new)

    def visit_expr_post_order(self, expr: RelaxExpr) -> RelaxExpr:
        """The expression with its children rewritten, in normal form."""
        rule = _DEFAULTS.get(type(expr))
        return expr if rule is None else self.builder_.normalize(rule(self, expr))

    def visit_default_(self, expr: RelaxExpr) -> RelaxExpr:
        return expr

    def visit_span(self, span: Span) -> Span:
        """Spans are kept as they are."""
        return span

    def visit_prim_expr(self, expr: PrimExpr) -> PrimExpr:
        """The rewritten extent or number; the same one unless a subclass says otherwise."""
        return expr

    def _visit_prims(self, exprs: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        if self._keeps_dims:
            return exprs
        new = [self.visit_prim_expr(expr) for expr in exprs]
        return exprs if _same(new, exprs) else tuple(new)

    def visit_struct_info(self, info: StructInfo) -> StructInfo:
        """The struct info with extents and shape variables rewritten; the same one if none is."""
        if isinstance(info, TensorStructInfo):
            shape = info.shape
            if shape is None or (self._keeps_shapes and isinstance(shape, ShapeExpr)):
                return info
            new_shape = self.visit_expr(shape)
            if new_shape is shape:
                return info
            return TensorStructInfo(new_shape, info.dtype, info.vdevice, span=info.span)
        if isinstance(info, TupleStructInfo):
            fields = [self.visit_struct_info(field) for field in info.fields]
            return info if _same(fields, info.fields) else TupleStructInfo(fields, info.span)
        if self._keeps_dims:
            return info
        return self._visit_numbers(info)

    def _visit_numbers(self, info: StructInfo) -> StructInfo:
        if isinstance(info, ShapeStructInfo) and info.values is not None:
            values = self._visit_prims(info.values)
            return info if values is info.values else ShapeStructInfo(values, span=info.span)
        if isinstance(info, PrimStructInfo) and info.value is not None:
            value = self.visit_prim_expr(info.value)
            return info if value is info.value else PrimStructInfo(value=value, span=info.span)
        if isinstance(info, FuncStructInfo) and info.params is not None:
            params = [self.visit_struct_info(param) for param in info.params]
            ret = self.visit_struct_info(info.ret)
            if ret is info.ret and _same(params, info.params):
                return info
            return FuncStructInfo(params, ret, info.purity, info.span)
        return info

    def visit_var_(self, op: Var) -> RelaxExpr:
        return self._var_remap.get(op.vid, op)

    def visit_dataflow_var_(self, op: DataflowVar) -> RelaxExpr:
        # not `visit_var_`: a mutator that changes both kinds of variables says so
        return self._var_remap.get(op.vid, op)

    def visit_tuple_(self, op: Tuple) -> RelaxExpr:
        fields = [self.visit_expr(field) for field in op.fields]
        return op if _same(fields, op.fields) else Tuple(fields, op.span)

    def visit_shape_expr_(self, op: ShapeExpr) -> RelaxExpr:
        values = self._visit_prims(op.values)
        return op if values is op.values else ShapeExpr(values, op.span)

    def visit_prim_value_(self, op: PrimValue) -> RelaxExpr:
        value = op.value if self._keeps_dims else self.visit_prim_expr(op.value)
        return op if value is op.value else PrimValue(value, op.span)

    def visit_call_(self, op: Call) -> RelaxExpr:
        callee = self.visit_expr(op.op)
        args = [self.visit_expr(arg) for arg in op.args]
        infos: Sequence[StructInfo] = op.sinfo_args
        if infos:
            infos = [self.visit_struct_info(info) for info in infos]
        if callee is op.op and _same(args, op.args) and _same(infos, op.sinfo_args):
            known = op.struct_info_
            if known is None or self.visit_struct_info(known) is known:
                return op
        return Call(callee, args, op.attrs, infos, op.span)

    def visit_tuple_getitem_(self, op: TupleGetItem) -> RelaxExpr:
        value = self.visit_expr(op.tuple_value)
        return op if value is op.tuple_value else TupleGetItem(value, op.index, op.span)

    def visit_if_(self, op: If) -> RelaxExpr:
        cond = self.visit_expr(op.cond)
        true_branch = self.visit_with_new_scope(op.true_branch)
        false_branch = self.visit_with_new_scope(op.false_branch)
        if (
            cond is op.cond
            and true_branch is op.true_branch
            and false_branch is op.false_branch
        ):
            return op
        return If(cond, true_branch, false_branch, op.span)

    def visit_seq_expr_(self, op: SeqExpr) -> RelaxExpr:
        blocks = [self.visit_binding_block(block) for block in op.blocks]
        changed = not _same(blocks, op.blocks)
        kept = [block for block in blocks if block.bindings]
        self.builder_.begin_binding_block()
        body = self.builder_.normalize_argument(self.visit_expr(op.body))
        prologue = self.builder_.end_block()
        if prologue.bindings:
            kept.append(prologue)
            changed = True
        if not changed and body is op.body:
            return op
        return normal_seq(kept, body, op)

    def visit_function_(self, op: Function) -> RelaxExpr:
        params = [self.visit_var_def(param) for param in op.params]
        for old, new in zip(op.params, params):
            if new is not old:
                self._var_remap[old.vid] = new
        body = self.visit_with_new_scope(op.body, params)
        if body is op.body and _same(params, op.params):
            return op
        declared = self.visit_struct_info(op.ret_struct_info)
        found = body.struct_info_
        ret = declared if found is None else result_after_rewrite(declared, found)
        return Function(params, body, ret, op.is_pure, op.attrs, op.span)

    # --- bindings ---

    def visit_var_binding_(self, binding: VarBinding) -> None:
        value = self.visit_expr(binding.value)
        self.reemit_binding(binding, value)

    def reemit_binding(self, binding: VarBinding, value: RelaxExpr) -> None:
        """Emit `binding` with a new value, under a new variable if the struct info changed."""
        var = self.visit_var_def(binding.var)
        if var is binding.var and value is binding.value:
            self.builder_.emit_normalized(binding)
            return
        if value.struct_info_ is not None:
            var = self.with_struct_info(var, value.struct_info_)
        if var is not binding.var:
            self._var_remap[binding.var.vid] = var
        self.builder_.emit_normalized(VarBinding(var, value, binding.span))

    def visit_match_cast_(self, binding: MatchCast) -> None:
        value = self.visit_expr(binding.value)
        info = self.visit_struct_info(binding.struct_info)
        var = self.visit_var_def(binding.var)
        if var is binding.var and value is binding.value and info is binding.struct_info:
            self.builder_.emit_normalized(binding)
            return
        value = self.builder_.normalize_argument(value)
        var = self.with_struct_info(var, info)
        if var is not binding.var:
            self._var_remap[binding.var.vid] = var
        self.builder_.emit_normalized(MatchCast(var, value, info, binding.span))

    def visit_binding_block_(self, block: BindingBlock) -> BindingBlock:
        return self.builder_.rebuilt(block, self._fill)

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        return self.builder_.rebuilt(block, self._fill)

    def _fill(self, block: BindingBlock) -> None:
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_var_def_(self, var: Var) -> Var:
        info = var.struct_info_
        if info is None:
            return var
        new = self.visit_struct_info(info)
        return var if new is info else type(var)(var.vid, new, var.span)

    # --- tools for subclasses ---

    def set_var_remap(self, vid: Id, var: Var) -> None:
        """Let uses of the variable with id `vid` become `var`."""
        self._var_remap[vid] = var

    def get_var_remap(self, vid: Id) -> Var:
        """What uses of the variable with id `vid` become; KeyError if they stay."""
        return self._var_remap[vid]

    def visit_with_new_scope(
        self, expr: RelaxExpr, params: Sequence[Var] | None = None
    ) -> RelaxExpr:
        """A branch or body rewritten in a scope of its own, as a sequence."""
        self.builder_.begin_scope(params)
        try:
            return as_seq(self.visit_expr(expr))
        finally:
            self.builder_.end_scope()

    def lookup_binding(self, var: Var) -> RelaxExpr | None:
        """What a variable was bound to in the rewritten program, or None."""
        return self.builder_.lookup_binding(var)

    def with_struct_info(self, var: Var, struct_info: StructInfo) -> Var:
        """`var` itself if it has this struct info, else a variable of the same id that has it."""
        if var.struct_info_ is None:
            var.struct_info_ = struct_info
            return var
        if var.struct_info_ is struct_info or structural_equal(var.struct_info_, struct_info):
            return var
        return type(var)(var.vid, struct_info, var.span)


# What the mutator does of its own, whatever a subclass overrides.
_DEFAULTS: Final[dict[type, Callable[[PyExprMutator, Any], RelaxExpr]]] = {
    Tuple: PyExprMutator.visit_tuple_,
    Var: PyExprMutator.visit_var_,
    DataflowVar: PyExprMutator.visit_var_,
    ShapeExpr: PyExprMutator.visit_shape_expr_,
    Function: PyExprMutator.visit_function_,
    Call: PyExprMutator.visit_call_,
    SeqExpr: PyExprMutator.visit_seq_expr_,
    If: PyExprMutator.visit_if_,
    TupleGetItem: PyExprMutator.visit_tuple_getitem_,
    PrimValue: PyExprMutator.visit_prim_value_,
}


def _same(new: Sequence[object], old: Sequence[object]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old))
