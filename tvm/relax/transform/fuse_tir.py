"""Turn each group that FuseOps made into one PrimFunc, and its calls into call_tir.

    def fused_add_exp(x, p0):                       def fused_add_exp(x, p0, out):
        lv = call_tir(add, (x, p0))        ->           T_add[i] = x[i] + p0[i]
        gv = call_tir(exp, (lv,))                       out[i] = exp(T_add[i])

The kernels' blocks follow one another in one root block, values between them become buffers of the
root; schedules inline them. The fused call keeps the spans of all that went into it. Relies on
FuseOps: a group holds only call_tir, tuples and their items.
"""

from __future__ import annotations

from tvm.error import TVMError
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import Span, merge_spans
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relax.expr import (
    Binding,
    Call,
    Function,
    PrimValue,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.prim_func_info import prim_func_struct_info
from tvm.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.transform.rebuild import map_calls
from tvm.support.naming import NameTable
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import IntImm
from tvm.tir.expr import Var as TirVar
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.renew_defs import DefRenewer
from tvm.tir.stmt import Block, BlockRealize, SeqStmt, Stmt

# A value inside a group: a buffer, several of them, or numbers; None is a result that gets its
# buffer when it is made.
Value = Buffer | list["Value"] | list[PrimExpr] | PrimExpr | None


@declare_module_pass("FuseTIR")
def FuseTIR(mod: IRModule, ctx: PassContext) -> IRModule:
    """Replace groups marked `Primitive` by one PrimFunc each."""
    groups = {
        var: func
        for var, func in mod.functions.items()
        if isinstance(func, Function) and func.attrs.get("Primitive")
    }
    if not groups:
        return mod
    fused = {var: _GroupFuser(mod, func).fuse() for var, func in groups.items()}
    spans = {var: _group_span(func) for var, func in groups.items()}
    kernels = {var: _global_var(var.name_hint, func) for var, func in fused.items()}
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if var in fused:
            functions[kernels[var]] = fused[var]
        elif isinstance(func, Function):
            functions[var] = map_calls(
                func, lambda call: _as_call_tir(call, groups, kernels, spans)
            )
        else:
            functions[var] = func
    return _without_unused(mod.with_functions(functions), mod)


def _group_span(group: Function) -> Span | None:
    """The spans of everything in a group."""
    spans = [
        binding.value.span or binding.span
        for block in group.body.blocks
        for binding in block.bindings
    ]
    return merge_spans(*spans)


def _global_var(name: str, kernel: PrimFunc) -> GlobalVar:
    """A variable with the signature of a kernel: that of the group was another."""
    var = GlobalVar(name)
    var.struct_info_ = prim_func_struct_info(kernel)
    return var


def _as_call_tir(
    call: Call, groups: dict[GlobalVar, Function], kernels: dict[GlobalVar, GlobalVar],
    spans: dict[GlobalVar, Span | None],
) -> RelaxExpr:  # fmt: skip
    """`group(x, y)` as `call_tir(group, (x, y))`; any other call as it is."""
    group = groups.get(call.op) if isinstance(call.op, GlobalVar) else None
    if group is None:
        return call
    tensors: list[RelaxExpr] = []
    numbers: list[PrimExpr] = []
    for param, arg in zip(group.params, call.args):
        _flatten_argument(param.struct_info, arg, tensors, numbers)
    assert call.struct_info_ is not None, "calls in a module are normalised"
    assert isinstance(call.op, GlobalVar), "its group was found"
    args: list[RelaxExpr] = [kernels[call.op], Tuple(tensors)]
    if numbers:
        args.append(ShapeExpr(numbers))
    infos = [call.struct_info_]
    made = Call(Op.get("relax.call_tir"), args, None, infos, spans[call.op] or call.span)
    made.struct_info_ = call.struct_info_
    return made


def _flatten_argument(
    info: StructInfo, arg: RelaxExpr, tensors: list[RelaxExpr], numbers: list[PrimExpr]
) -> None:
    if isinstance(info, TensorStructInfo):
        tensors.append(arg)
    elif isinstance(info, TupleStructInfo):
        for i, field in enumerate(info.fields):
            item = arg.fields[i] if isinstance(arg, Tuple) else TupleGetItem(arg, i)
            _flatten_argument(field, item, tensors, numbers)
    elif isinstance(info, ShapeStructInfo) and isinstance(arg, ShapeExpr):
        numbers.extend(arg.values)
    elif isinstance(info, PrimStructInfo) and isinstance(arg, PrimValue):
        numbers.append(arg.value)
    else:
        raise TVMError(
            f"FuseTIR: an argument of a fused function has struct info {info}; legal: tensors, "
            "tuples of them, shapes and numbers written out"
        )


def _without_unused(mod: IRModule, before: IRModule) -> IRModule:
    """Drop the private kernels that only groups called."""
    from tvm.relax.transform.dead_code_elimination import remove_unused_functions

    return remove_unused_functions(mod, keep=[v for v in before.functions if _is_public(before[v])])


def _is_public(func: object) -> bool:
    attrs = getattr(func, "attrs", None)
    return attrs is not None and attrs.get("global_symbol") is not None


class _GroupFuser:
    """Builds one PrimFunc from one group."""

    def __init__(self, mod: IRModule, group: Function) -> None:
        self._mod = mod
        self._group = group
        self._values: dict[Var, Value] = {}
        self._buffer_names = NameTable()
        self._block_names = NameTable(["root"])
        self._allocs: list[Buffer] = []
        self._stmts: list[Stmt] = []
        self._params: list[TirVar] = []
        self._buffer_map: dict[TirVar, Buffer] = {}
        self._symbols: dict[TirVar, PrimExpr] = {}

    def fuse(self) -> PrimFunc:
        numbers: list[TirVar] = []
        for param in self._group.params:
            self._values[param] = self._make_param(
                param.name_hint, param.struct_info, numbers
            )
        result = self._group.body.body
        bindings = [b for block in self._group.body.blocks for b in block.bindings]
        self._bound = {b.var: b.value for b in bindings if isinstance(b, VarBinding)}
        outputs = self._make_outputs(result, bindings)
        for binding in bindings:
            self._bind(binding, outputs)
        self._params.extend(numbers)
        attrs: dict[str, object] = {"tir.noalias": True}
        symbol = self._group.attrs.get("global_symbol")
        if symbol is not None:
            attrs["global_symbol"] = symbol
        body = BlockRealize(
            [], True, Block([], [], [], "root", SeqStmt.flatten(self._stmts), None, self._allocs)
        )
        return PrimFunc(
            self._params, body, None, self._buffer_map, attrs, _group_span(self._group)
        )

    # --- parameters and results ---

    def _add_buffer_param(self, buffer: Buffer) -> Buffer:
        handle = TirVar(f"p_{buffer.name}", "handle")
        self._params.append(handle)
        self._buffer_map[handle] = buffer
        return buffer

    def _new_buffer(self, name: str, info: TensorStructInfo) -> Buffer:
        if not isinstance(info.shape, ShapeExpr):
            raise TVMError(f"FuseTIR: the shape of {name!r} is not known: {info}")
        fresh = self._buffer_names.fresh(name)
        return decl_buffer(info.shape.values, info.dtype, fresh)

    def _make_param(self, name: str, info: StructInfo, numbers: list[TirVar]) -> Value:
        if isinstance(info, TensorStructInfo):
            return self._add_buffer_param(self._new_buffer(name, info))
        if isinstance(info, TupleStructInfo):
            return [
                self._make_param(f"{name}_{i}", field, numbers)
                for i, field in enumerate(info.fields)
            ]
        exprs: list[PrimExpr] = []
        if isinstance(info, ShapeStructInfo) and info.values is not None:
            exprs = list(info.values)
        elif isinstance(info, PrimStructInfo) and info.value is not None:
            exprs = [info.value]
        for expr in exprs:
            if isinstance(expr, TirVar):
                if not any(expr is n for n in numbers):
                    numbers.append(expr)
            elif not isinstance(expr, IntImm):
                raise TVMError(f"FuseTIR: parameter {name!r} of a group computes {expr}")
        return exprs

    def _make_outputs(
        self, result: RelaxExpr, bindings: tuple[Binding, ...] | list[Binding]
    ) -> dict[Var, Value]:
        """Which variables are results, with the buffers that take them."""
        if isinstance(result, Tuple):
            return self._make_field_outputs(result, bindings)
        if not isinstance(result, Var):
            raise TVMError("FuseTIR: the result of a group is a variable or a tuple of them")
        info = result.struct_info
        last = next((b for b in bindings if b.var is result), None)
        if isinstance(info, TensorStructInfo):
            name = self._result_name(result, bindings)
            return self._output_of(result, self._add_buffer_param(self._new_buffer(name, info)))
        assert isinstance(info, TupleStructInfo), "a group gives tensors"
        if last is not None and isinstance(last.value, Tuple):
            return self._make_field_outputs(last.value, bindings)
        buffers: list[Value] = []
        for i, field_info in enumerate(info.fields):
            assert isinstance(field_info, TensorStructInfo), "a kernel gives tensors"
            name = f"{result.name_hint}_{i}"
            buffers.append(self._add_buffer_param(self._new_buffer(name, field_info)))
        return {result: buffers}

    def _make_field_outputs(
        self, result: Tuple, bindings: tuple[Binding, ...] | list[Binding]
    ) -> dict[Var, Value]:
        outputs: dict[Var, Value] = {}
        for field in result.fields:
            for var, made in self._make_outputs(field, bindings).items():
                outputs[var] = _merged(outputs.get(var), made)
        return outputs

    def _output_of(self, var: Var, buffer: Buffer) -> dict[Var, Value]:
        """The buffer as the result of the call that `var` names; of one item, if it is one."""
        value = self._bound.get(var)
        if isinstance(value, Var):
            return self._output_of(value, buffer)
        whole = value.tuple_value if isinstance(value, TupleGetItem) else None
        if isinstance(value, TupleGetItem) and isinstance(whole, Var) and whole in self._bound:
            info = whole.struct_info
            assert isinstance(info, TupleStructInfo), "an item is taken of a tuple"
            items: list[Value] = [None] * len(info.fields)
            items[value.index] = buffer
            return {whole: items}
        return {var: buffer}

    def _result_name(self, var: Var, bindings: tuple[Binding, ...] | list[Binding]) -> str:
        """The name of the output buffer of the kernel that makes `var`, with `_intermediate`."""
        for binding in bindings:
            if binding.var is var and isinstance(binding.value, Call):
                kernel = self._kernel(binding.value)
                if kernel is not None:
                    known = kernel.buffer_map
                    buffers = [known[p] for p in kernel.params if p in known]
                    return f"{buffers[-1].name}_intermediate"
        return f"{var.name_hint}_intermediate"

    # --- bindings ---

    def _kernel(self, call: Call) -> PrimFunc | None:
        if isinstance(call.op, Op) and call.op.name == "relax.call_tir":
            var = call.args[0]
            assert isinstance(var, GlobalVar), "call_tir names a function"
            func = self._mod[var]
            return func if isinstance(func, PrimFunc) else None
        return None

    def _value(self, expr: RelaxExpr) -> Value:
        if isinstance(expr, Var):
            return self._values[expr]
        if isinstance(expr, Tuple):
            return [self._value(field) for field in expr.fields]
        if isinstance(expr, TupleGetItem):
            whole = self._value(expr.tuple_value)
            assert isinstance(whole, list), "an item is taken of a tuple"
            return whole[expr.index]
        if isinstance(expr, ShapeExpr):
            return list(expr.values)
        if isinstance(expr, PrimValue):
            return expr.value
        raise TVMError(f"FuseTIR: a group holds {type(expr).__name__}; legal: call_tir and tuples")

    def _bind(self, binding: Binding, outputs: dict[Var, Value]) -> None:
        value = binding.value
        if not isinstance(binding, VarBinding):
            raise TVMError("FuseTIR: a group holds a match_cast")
        if isinstance(value, Call):
            kernel = self._kernel(value)
            if kernel is None:
                raise TVMError(f"FuseTIR: a group calls {value.op}; legal: call_tir")
            self._values[binding.var] = self._inline(kernel, value, binding.var, outputs)
        else:
            self._values[binding.var] = self._value(value)

    def _inline(
        self, kernel: PrimFunc, call: Call, var: Var, outputs: dict[Var, Value]
    ) -> Value:
        """Append the kernel's body with its buffers replaced; give the buffers of its results."""
        args = _flat_buffers(self._value(call.args[1]))
        numbers = self._value(call.args[2]) if len(call.args) > 2 else []
        assert isinstance(numbers, list), "the third argument of call_tir is a shape"
        symbols: dict[TirVar, PrimExpr] = {}
        replaced: dict[Buffer, Buffer] = {}
        buffer_params = [p for p in kernel.params if p in kernel.buffer_map]
        scalar_params = [p for p in kernel.params if p not in kernel.buffer_map]
        for param, number in zip(scalar_params, numbers):
            assert isinstance(number, PrimExpr), "shapes hold numbers"
            symbols[param] = number
        for param, arg in zip(buffer_params, args):
            _match(kernel.buffer_map[param], arg, symbols, replaced)
        result_params = buffer_params[len(args) :]
        results = self._result_buffers(kernel, call, result_params, outputs.get(var))
        for param, result in zip(result_params, results):
            _match(kernel.buffer_map[param], result, symbols, replaced)
        renewer = DefRenewer(symbols, replaced)
        self._append(renewer.visit_stmt(kernel.body))
        given = _flat_buffers(outputs.get(var))
        self._allocs.extend(b for b in results if not any(b is known for known in given))
        if isinstance(call.struct_info, TupleStructInfo):
            several: list[Value] = [*results]
            return several
        return results[0]

    def _result_buffers(
        self, kernel: PrimFunc, call: Call, params: list[TirVar], given: Value | None
    ) -> list[Buffer]:
        info = call.struct_info
        infos = info.fields if isinstance(info, TupleStructInfo) else (info,)
        known = given if isinstance(given, list) else [given] * len(infos)
        made = []
        for param, one, buffer in zip(params, infos, known):
            assert isinstance(one, TensorStructInfo), "a kernel gives tensors"
            if not isinstance(buffer, Buffer):
                buffer = self._new_buffer(kernel.buffer_map[param].name, one)
            made.append(buffer)
        return made

    def _append(self, body: Stmt) -> None:
        """Take the statements out of the kernel's root block, with fresh block names."""
        if isinstance(body, BlockRealize) and not body.block.iter_vars:
            root = body.block
            self._allocs.extend(root.alloc_buffers)
            body = root.body
        self._stmts.append(_BlockRenamer(self._block_names).visit_stmt(body))


def _merged(old: Value, new: Value) -> Value:
    """The buffers of several items of one tuple."""
    if isinstance(old, list) and isinstance(new, list):
        return [b if a is None else a for a, b in zip(old, new)]
    return new


def _flat_buffers(value: Value) -> list[Buffer]:
    if value is None:
        return []
    if isinstance(value, Buffer):
        return [value]
    assert isinstance(value, list), "arguments of a kernel are tensors"
    return [b for part in value for b in _flat_buffers(part)]


def _match(
    formal: Buffer,
    actual: Buffer,
    symbols: dict[TirVar, PrimExpr],
    replaced: dict[Buffer, Buffer],
) -> None:
    """Bind a kernel's parameter buffer, its pointer and its symbolic extents."""
    for extent, given in zip(formal.shape, actual.shape):
        if isinstance(extent, TirVar):
            symbols.setdefault(extent, given)
    symbols[formal.data] = actual.data
    replaced[formal] = actual


class _BlockRenamer(StmtExprMutator):
    """Gives blocks names that are unique in the fused function."""

    def __init__(self, names: NameTable) -> None:
        super().__init__()
        self._names = names

    def visit_block_(self, op: Block) -> Stmt:
        name = self._names.fresh(op.name_hint)
        new = super().visit_block_(op)
        assert isinstance(new, Block), "a renamer keeps blocks"
        if name == op.name_hint:
            return new
        return Block(
            new.iter_vars, new.reads, new.writes, name, new.body, new.init, new.alloc_buffers,
            new.match_buffers, new.annotations, new.span,
        )  # fmt: skip
