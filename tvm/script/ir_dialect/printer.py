"""How modules, types and other words that all IRs share print."""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir.attrs import Attrs, DictAttrs
from tvm.ir.expr import GlobalVar, Range
from tvm.ir.function import BaseFunc
from tvm.ir.global_info import DummyGlobalInfo, VDevice
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import SequentialSpan, SourceName, Span
from tvm.ir.type import FuncType, PointerType, PrimType, TensorMapType, TupleType
from tvm.script.printer.doc import (
    AssignDoc,
    ClassDoc,
    DictDoc,
    Doc,
    ExprDoc,
    ExprStmtDoc,
    IdDoc,
    ListDoc,
    LiteralDoc,
    SourceDoc,
    StmtBlockDoc,
)
from tvm.script.printer.docsifier import Docsifier, Frame, ModuleAlias, identifier, rule
from tvm.script.printer.entry import header
from tvm.support.dtype import DataType

# `main` stands last; before it tensor programs, then outside functions, then graphs.
_FUNCTION_ORDER = {"tir.PrimFunc": 1, "relax.expr.ExternFunc": 2, "relax.expr.Function": 3}


def ordered_functions(mod: IRModule) -> list[tuple[GlobalVar, BaseFunc]]:
    """The functions of a module in the order of printing."""

    def sort_key(item: tuple[GlobalVar, BaseFunc]) -> tuple[int, str]:
        var, func = item
        rank = 1000 if var.name_hint == "main" else _FUNCTION_ORDER.get(func.TYPE_KEY, 100)
        return rank, var.name_hint

    return sorted(mod.functions.items(), key=sort_key)


@rule(IRModule, dialect="ir")
def _module(mod: IRModule, d: Docsifier) -> Doc:
    name = d.binding_names[-1] if d.binding_names else "Module"
    alias = ModuleAlias(name, d.cfg.module_alias or name)
    d.reserve(name)
    with d.frame(mod, "ir") as frame:
        d.module_alias = alias
        _module_facts(mod, frame, d)
        functions = ordered_functions(mod)
        for var, _ in functions:
            d.define_as(var, frame, alias.maker(identifier(var.name_hint)))
        for var, func in functions:
            if func.attrs.get("is_pyfunc"):
                frame.stmts.append(_python_function(var, func, d))
                continue
            d.binding_names.append(identifier(var.name_hint))
            doc = d.doc(func)
            d.binding_names.pop()
            if isinstance(doc, ExprDoc):  # a function made elsewhere
                doc = AssignDoc(IdDoc(identifier(var.name_hint)), doc)
            frame.stmts.extend(doc.stmts if isinstance(doc, StmtBlockDoc) else [doc])
        d.module_alias = None
        made = ClassDoc(IdDoc(name), [d.word("ir", "ir_module")], frame.stmts)
    return header(d, made)


def _module_facts(mod: IRModule, frame: Frame, d: Docsifier) -> None:
    if len(mod.attrs):
        said = d.word("ir", "module_attrs").call(d.expr(mod.attrs))
        frame.stmts.append(ExprStmtDoc(said))
    if mod.global_infos:
        infos: Mapping[str, object] = mod.global_infos
        said = d.word("ir", "module_global_infos").call(d.expr(infos))
        frame.stmts.append(ExprStmtDoc(said))


def _python_function(var: GlobalVar, func: BaseFunc, d: Docsifier) -> SourceDoc:
    """A function that stays Python, as it was written."""
    unknown = f"def {identifier(var.name_hint)}(*args):\n    ..."
    source = func.attrs.get("python_source") or unknown
    return SourceDoc([d.word("ir", "pyfunc")], str(source))


@rule(GlobalVar, dialect="ir")
def _global_var(var: GlobalVar, d: Docsifier) -> ExprDoc:
    found = d.name_doc(var)
    if found is not None:
        return found
    if len(d.frames) == 1 and d.tokens == ["ir"]:  # it stands alone
        return d.word("ir", "GlobalVar").call(LiteralDoc(var.name_hint))
    return IdDoc(var.name_hint)


@rule(DictAttrs, dialect="ir")
def _dict_attrs(attrs: DictAttrs, d: Docsifier) -> ExprDoc:
    return DictDoc({LiteralDoc(key): d.expr(attrs[key]) for key in sorted(attrs)})


@rule(Attrs, dialect="ir")
def _attrs(attrs: Attrs, d: Docsifier) -> ExprDoc:
    return DictDoc({LiteralDoc(key): d.expr(attrs[key]) for key in attrs.keys()})  # noqa: SIM118


@rule(DummyGlobalInfo, dialect="ir")
def _dummy_info(info: DummyGlobalInfo, d: Docsifier) -> ExprDoc:
    return d.word("ir", "dummy_global_info").call()


@rule(VDevice, dialect="ir")
def _vdevice(info: VDevice, d: Docsifier) -> ExprDoc:
    """`I.vdevice({"kind": "llvm", ...}, 0, "global")`."""
    target = info.target
    export = getattr(target, "export", None)
    config = export() if export is not None else target
    parts = (LiteralDoc(info.vdevice_id), LiteralDoc(info.memory_scope))
    return d.word("ir", "vdevice").call(d.expr(config), *parts)


@rule(Range, dialect="ir")
def _range(rng: Range, d: Docsifier) -> ExprDoc:
    dialect = "tir" if d.tokens[-1:] == ["tir"] else "ir"
    return d.word(dialect, "Range").call(d.expr(rng.min), d.expr(rng.min + rng.extent))


@rule(Op, dialect="ir")
def _op(op: Op, d: Docsifier) -> ExprDoc:
    return d.word("ir", "Op").call(LiteralDoc(op.name))


def dtype_doc(dtype: DataType, d: Docsifier) -> ExprDoc:
    """`T.int32`; the names of users' own types are no words of Python."""
    if dtype.is_custom:
        return d.word("tir", "func_gen").call(LiteralDoc(str(dtype)))
    return d.word("tir", str(dtype))


@rule(PrimType, dialect="ir")
def _prim_type(kind: PrimType, d: Docsifier) -> ExprDoc:
    return dtype_doc(kind.dtype, d)


@rule(PointerType, dialect="ir")
def _pointer_type(kind: PointerType, d: Docsifier) -> ExprDoc:
    """`T.handle("float32", "global")`; `T.handle` for a pointer to anything."""
    element = kind.element_type
    handle = d.word("tir", "handle")
    if not isinstance(element, PrimType):
        return handle
    return handle.call(LiteralDoc(str(element.dtype)), LiteralDoc(kind.storage_scope))


@rule(TupleType, dialect="ir")
def _tuple_type(kind: TupleType, d: Docsifier) -> ExprDoc:
    if not kind.fields:
        return LiteralDoc(None)
    return d.word("tir", "Tuple").call(*d.exprs(kind.fields))


@rule(FuncType, dialect="ir")
def _func_type(kind: FuncType, d: Docsifier) -> ExprDoc:
    return d.word("ir", "FuncType").call(ListDoc(d.exprs(kind.arg_types)), d.expr(kind.ret_type))


@rule(TensorMapType, dialect="ir")
def _tensor_map_type(kind: TensorMapType, d: Docsifier) -> ExprDoc:
    return d.word("tir", "TensorMap").call()


@rule(SourceName, dialect="ir")
def _source_name(name: SourceName, d: Docsifier) -> ExprDoc:
    return d.word("ir", "SourceName").call(LiteralDoc(name.name))


@rule(Span, SequentialSpan, dialect="ir")
def _span(span: Span, d: Docsifier) -> ExprDoc:
    return LiteralDoc(repr(span))


@rule(HostTensor, dialect="ir")
def _tensor(tensor: HostTensor, d: Docsifier) -> ExprDoc:
    return d.metadata_of(tensor, "ffi.Tensor")
