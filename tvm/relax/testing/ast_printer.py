"""Relax programs as text that shows every node and field.

    dump_ast(x)    ->    Var(name_hint="x", struct_info=TensorStructInfo(dtype=float32, ndim=2))

For looking at a program's form, where the script shows its meaning; it is not parsed back.
"""

from __future__ import annotations

from collections.abc import Iterable

from tvm.ir.attrs import Attrs
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.op import Op
from tvm.ir.type import FuncType, TupleType, Type
from tvm.relax.expr import (
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
)
from tvm.relax.expr_functor import ExprFunctor
from tvm.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.type import ObjectType, PackedFuncType, ShapeType, TensorType


def wrap_quotes(text: str) -> str:
    """The text in double quotes."""
    return f'"{text}"'


def _attr_text(value: object) -> str:
    if isinstance(value, str):
        return wrap_quotes(value)
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(repr(one) for one in value)}]"
    return str(value)


class ASTPrinter(ExprFunctor[str]):
    """Text of any node of Relax; two choices leave out struct info and attributes of calls."""

    def __init__(
        self,
        indent_str: str = "    ",
        include_struct_info_annotations: bool = True,
        include_call_attrs: bool = True,
    ) -> None:
        self.indent_str = indent_str
        self.include_struct_info_annotations = include_struct_info_annotations
        self.include_call_attrs = include_call_attrs

    # --- forms ---

    def indent(self, text: str) -> str:
        """The text with each line moved to the right."""
        return "".join(self.indent_str + line for line in text.splitlines(keepends=True))

    def build_list(
        self,
        members: Iterable[str],
        open_tok: str = "[",
        close_tok: str = "]",
        force_newline: bool = False,
    ) -> str:
        """Members between brackets; each on its own line when one of them has several, or asked."""
        parts = list(members)
        if len(parts) > 1 or (parts and (force_newline or "\n" in parts[0])):
            lines = ",\n".join(self.indent(part) for part in parts)
            return f"{open_tok}\n{lines}\n{close_tok}"
        return open_tok + "".join(parts) + close_tok

    def build_ast_node(self, nodename: str, force_newline: bool = False, **kwargs: str) -> str:
        """A node with its fields."""
        members = [f"{name}={text}" for name, text in kwargs.items()]
        return self.build_list(members, f"{nodename}(", ")", force_newline)

    def build_expr(
        self, node: RelaxExpr, nodename: str, force_newline: bool = False, **kwargs: str
    ) -> str:
        """An expression with its fields, and its struct info if that is known and wanted."""
        if self.include_struct_info_annotations and node.struct_info_ is not None:
            kwargs["struct_info"] = self.visit_struct_info_(node.struct_info_)
        return self.build_ast_node(nodename, force_newline, **kwargs)

    def _attrs(self, attrs: Attrs) -> str:
        values = [(key, attrs[key]) for key in attrs.keys()]  # noqa: SIM118 - a record, no mapping
        members = [f"{wrap_quotes(key)}: {_attr_text(value)}" for key, value in values]
        return self.build_list(members, "{", "}")

    # --- expressions ---

    def visit_expr(self, expr: RelaxExpr) -> str:
        """The text of an expression."""
        return super().visit_expr(expr)

    def visit_constant_(self, op: Constant) -> str:
        return self.build_expr(op, "Constant", len(op.data.shape) > 0, data=str(op.data.numpy()))

    def visit_tuple_(self, op: Tuple) -> str:
        return self.build_expr(op, "Tuple", fields=self.build_list(map(self.visit_expr, op.fields)))

    def visit_dataflow_var_(self, op: DataflowVar) -> str:
        return self.build_expr(op, "DataflowVar", name_hint=wrap_quotes(op.name_hint))

    def visit_var_(self, op: Var) -> str:
        return self.build_expr(op, "Var", name_hint=wrap_quotes(op.name_hint))

    def visit_shape_expr_(self, op: ShapeExpr) -> str:
        values = self.build_list(map(self.visit_prim_expr_, op.values))
        return self.build_expr(op, "ShapeExpr", values=values)

    def visit_extern_func_(self, op: ExternFunc) -> str:
        return self.build_ast_node("ExternFunc", global_symbol=wrap_quotes(op.global_symbol))

    def visit_global_var_(self, op: GlobalVar) -> str:
        return self.build_expr(op, "GlobalVar", name_hint=wrap_quotes(op.name_hint))

    def visit_function_(self, op: Function) -> str:
        parts = {
            "params": self.build_list(map(self.visit_expr, op.params)),
            "body": self.visit_expr(op.body),
            "ret_struct_info": self.visit_struct_info_(op.ret_struct_info),
            "is_pure": str(op.is_pure),
        }
        if op.attrs:
            values = [(key, op.attrs[key]) for key in op.attrs.keys()]  # noqa: SIM118 - a record
            texts = [f"{wrap_quotes(key)}: {wrap_quotes(str(value))}" for key, value in values]
            parts["attrs"] = self.build_list(texts, "{", "}")
        return self.build_expr(op, "Function", False, **parts)

    def visit_call_(self, op: Call) -> str:
        parts = {
            "op": self.visit_expr(op.op),
            "args": self.build_list(map(self.visit_expr, op.args)),
        }
        if op.sinfo_args:
            parts["sinfo_args"] = self.build_list(map(self.visit_struct_info_, op.sinfo_args))
        if op.attrs and self.include_call_attrs:
            parts["attrs"] = self._attrs(op.attrs)
        return self.build_expr(op, "Call", False, **parts)

    def visit_seq_expr_(self, op: SeqExpr) -> str:
        blocks = self.build_list(map(self.visit_binding_block, op.blocks))
        return self.build_expr(op, "SeqExpr", blocks=blocks, body=self.visit_expr(op.body))

    def visit_if_(self, op: If) -> str:
        return self.build_expr(
            op, "If",
            cond=self.visit_expr(op.cond),
            true_branch=self.visit_expr(op.true_branch),
            false_branch=self.visit_expr(op.false_branch),
        )  # fmt: skip

    def visit_prim_value_(self, op: PrimValue) -> str:
        return self.build_expr(op, "PrimValue", value=self.visit_prim_expr_(op.value))

    def visit_string_imm_(self, op: StringImm) -> str:
        return self.build_expr(op, "StringImm", value=wrap_quotes(op.value))

    def visit_data_type_imm_(self, op: DataTypeImm) -> str:
        return self.build_expr(op, "DataTypeImm", value=str(op.value))

    def visit_op_(self, op: Op) -> str:
        # an operator has attributes of its own, which are no part of the program
        return self.build_ast_node("Op", name=wrap_quotes(op.name))

    def visit_tuple_getitem_(self, op: TupleGetItem) -> str:
        value = self.visit_expr(op.tuple_value)
        return self.build_expr(op, "TupleGetItem", tuple_value=value, index=str(op.index))

    def visit_prim_expr_(self, prim_expr: PrimExpr) -> str:
        """The text of a number or an extent, as script in backquotes."""
        return self.build_ast_node("PrimExpr", value=f"`{prim_expr}`")

    # --- types and struct info ---

    def visit_type_(self, type_node: Type) -> str:
        """The text of a static type."""
        if isinstance(type_node, ShapeType):
            return self.build_ast_node("ShapeType", ndim=str(type_node.ndim))
        if isinstance(type_node, ObjectType):
            return self.build_ast_node("ObjectType")
        if isinstance(type_node, PackedFuncType):
            return self.build_ast_node("PackedFuncType")
        if isinstance(type_node, TensorType):
            ndim, dtype = str(type_node.ndim), str(type_node.dtype)
            return self.build_ast_node("TensorType", ndim=ndim, dtype=dtype)
        if isinstance(type_node, TupleType):
            members = self.build_list(map(self.visit_type_, type_node.fields))
            return self.build_ast_node("TupleType", fields=members)
        if isinstance(type_node, FuncType):
            return self.build_ast_node(
                "FuncType",
                arg_types=self.build_list(map(self.visit_type_, type_node.arg_types)),
                ret_type=self.visit_type_(type_node.ret_type),
            )
        raise ValueError(f"dump_ast: {type(type_node).__name__} is no type of Relax values")

    def visit_struct_info_(self, struct_info_node: StructInfo) -> str:
        """The text of a struct info."""
        info = struct_info_node
        if isinstance(info, ObjectStructInfo):
            return self.build_ast_node("ObjectStructInfo")
        if isinstance(info, PrimStructInfo):
            return self.build_ast_node("PrimStructInfo", dtype=str(info.dtype))
        if isinstance(info, TupleStructInfo):
            members = self.build_list(map(self.visit_struct_info_, info.fields))
            return self.build_ast_node("TupleStructInfo", fields=members)
        parts: dict[str, str] = {}
        if isinstance(info, ShapeStructInfo):
            parts["ndim"] = str(info.ndim)
            if info.values is not None:
                parts["values"] = self.build_list(map(self.visit_prim_expr_, info.values))
            return self.build_ast_node("ShapeStructInfo", False, **parts)
        if isinstance(info, TensorStructInfo):
            parts["dtype"] = str(info.dtype)
            shape = info.shape
            if shape is None or (isinstance(shape, ShapeExpr) and not shape.values):
                parts["ndim"] = str(info.ndim)
            else:
                parts["shape"] = self.visit_expr(shape)
            return self.build_ast_node("TensorStructInfo", False, **parts)
        if isinstance(info, FuncStructInfo):
            if info.params is not None:
                parts["params"] = self.build_list(map(self.visit_struct_info_, info.params))
            parts["ret"] = self.visit_struct_info_(info.ret)
            parts["purity"] = str(info.purity)
            return self.build_ast_node("FuncStructInfo", False, **parts)
        raise ValueError(f"dump_ast: {type(info).__name__} is no struct info of Relax")

    # --- bindings ---

    def visit_binding_block_(self, block: BindingBlock) -> str:
        bindings = self.build_list(map(self.visit_binding, block.bindings), force_newline=True)
        return self.build_ast_node("BindingBlock", bindings=bindings)

    def visit_dataflow_block_(self, block: DataflowBlock) -> str:
        bindings = self.build_list(map(self.visit_binding, block.bindings), force_newline=True)
        return self.build_ast_node("DataflowBlock", bindings=bindings)

    def visit_binding_(self, binding: Binding) -> str:
        """The text of a binding of either kind."""
        return str(self.visit_binding(binding))

    def visit_match_cast_(self, match_cast: MatchCast) -> str:
        return self.build_ast_node(
            "MatchCast",
            var=self.visit_expr(match_cast.var),
            value=self.visit_expr(match_cast.value),
            struct_info=self.visit_struct_info_(match_cast.struct_info),
        )

    def visit_var_binding_(self, var_binding: VarBinding) -> str:
        value = self.visit_expr(var_binding.value)
        return self.build_ast_node(
            "VarBinding", var=self.visit_expr(var_binding.var), value=value
        )


def dump_ast(
    exp: RelaxExpr | Binding | BindingBlock,
    indent_str: str = "    ",
    include_struct_info_annotations: bool = True,
    include_call_attrs: bool = True,
) -> str:
    """The text of an expression, a binding or a block."""
    printer = ASTPrinter(indent_str, include_struct_info_annotations, include_call_attrs)
    if isinstance(exp, RelaxExpr):
        return printer.visit_expr(exp)
    if isinstance(exp, Binding):
        return printer.visit_binding_(exp)
    if isinstance(exp, BindingBlock):
        return str(printer.visit_binding_block(exp))
    raise TypeError(
        f"dump_ast: found a {type(exp).__name__}; legal: an expression, a binding or a block"
    )


__all__ = ["ASTPrinter", "dump_ast", "wrap_quotes"]
