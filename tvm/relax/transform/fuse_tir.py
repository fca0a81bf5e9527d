"""Turn each group that FuseOps made into one PrimFunc, and its calls into call_tir.

    def fused_add_exp(x, p0):                       def fused_add_exp(x, p0, out):
        lv = call_tir(add, (x, p0))        ->           T_add[i] = x[i] + p0[i]
        gv = call_tir(exp, (lv,))                       out[i] = exp(T_add[i])

The kernels' blocks follow one another in one root block, values between them become buffers of the
root; schedules inline them. What a kernel writes in place stays one buffer; where that is an
operand of the group, its call writes in place too. The fused call keeps the spans of all that went
into it. Relies on FuseOps: a group holds only calls of kernels, tuples and their items.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tvm import te
from tvm.error import CheckError
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import Span, merge_spans
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
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
    is_call_of,
)
from tvm.relax.op.base import CallTIRInplaceAttrs
from tvm.relax.prim_func_info import prim_func_struct_info
from tvm.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.transform.dead_code_elimination import RemoveUnusedWork
from tvm.relax.transform.expand_tuple_arguments import ExpandTupleArguments
from tvm.relax.transform.inplace_results import operand_indices, operand_of_result
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import all_bindings, map_bindings, map_calls
from tvm.relax.transform.remove_unused_parameters import RemoveUnusedParameters
from tvm.relax.transform.settle import settled_module
from tvm.support.naming import NameTable
from tvm.tir.analysis.deep_equal import region_deep_equal
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import IntImm
from tvm.tir.expr import Var as TirVar
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.renew_defs import DefRenewer
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, SeqStmt, Stmt

# A value as a variable and the items taken of it.
ValuePath = tuple[Var | int, ...]
# A value inside a group: a buffer, several of them, or numbers; None is a result that gets its
# buffer when it is made.
Value = Buffer | list["Value"] | list[PrimExpr] | PrimExpr | None


@relax_module_pass("FuseTIR")
def FuseTIR(mod: IRModule, ctx: PassContext) -> IRModule:
    """Replace groups marked `Primitive` by one PrimFunc each.

    Before, groups take of a tuple only the fields they read; afterwards what is unused goes.
    """
    mod = RemoveUnusedParameters()(ExpandTupleArguments()(mod))
    return RemoveUnusedWork()(settled_module(mod, _fuse(mod)))


def _fuse(mod: IRModule) -> IRModule:
    groups = {
        var: func
        for var, func in mod.functions.items()
        if isinstance(func, Function) and func.attrs.get("Primitive")
    }
    if not groups:
        return mod
    fusers = {var: _GroupFuser(mod, func) for var, func in groups.items()}
    # a kernel cannot give what it was given: such a group stays a function
    fusers = {var: fuser for var, fuser in fusers.items() if not fuser.hands_on_operand()}
    fused = {var: fuser.fuse() for var, fuser in fusers.items()}
    spans = {var: _group_span(groups[var]) for var in fused}
    kernels = {var: _global_var(var.name_hint, func) for var, func in fused.items()}
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if var in fused:
            functions[kernels[var]] = fused[var]
        elif isinstance(func, Function):
            called = map_calls(func, lambda call: _as_call_tir(call, fusers, kernels, spans))
            plain = called.without_attr("Primitive") if var in groups else called
            functions[var] = map_bindings(plain, _results_in_a_row)
        else:
            functions[var] = func
    return mod.with_functions(functions)


def fuse_group(mod: IRModule, group: Function) -> PrimFunc:
    """One PrimFunc of a function whose bindings call kernels of `mod`: operands, then results."""
    return _GroupFuser(mod, group).fuse()


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
    call: Call, groups: dict[GlobalVar, _GroupFuser], kernels: dict[GlobalVar, GlobalVar],
    spans: dict[GlobalVar, Span | None],
) -> RelaxExpr:  # fmt: skip
    """`group(x, y)` as `call_tir(group, (x, y))`; any other call as it is."""
    group = groups.get(call.op) if isinstance(call.op, GlobalVar) else None
    if group is None:
        return call
    tensors: list[RelaxExpr] = []
    given: dict[PrimExpr, PrimExpr] = {}
    for param, arg in zip(group.function.params, call.args):
        _flatten_argument(param.struct_info, arg, tensors, given)
    numbers = [given[number] for number in group.numbers]
    assert call.struct_info_ is not None, "calls in a module are normalised"
    assert isinstance(call.op, GlobalVar), "its group was found"
    args: list[RelaxExpr] = [kernels[call.op], Tuple(tensors)]
    if numbers:
        args.append(ShapeExpr(numbers))
    infos = [call.struct_info_]
    name, attrs = "relax.call_tir", None
    if any(index >= 0 for index in group.inplace):
        name = "relax.call_tir_inplace"
        attrs = CallTIRInplaceAttrs(inplace_indices=tuple(group.inplace))
    made = Call(Op.get(name), args, attrs, infos, spans[call.op] or call.span)
    made.struct_info_ = call.struct_info_
    return made


def _results_in_a_row(binding: Binding) -> Sequence[Binding]:
    """A kernel gives tensors: tuples among the results of a group are made behind its call.

    v = call_tir(f, x, [(a, b), c])   ->   lv = call_tir(f, x, [a, b, c])
                                           v = ((lv[0], lv[1]), lv[2])
    """
    call = binding.value
    if not isinstance(binding, VarBinding) or not isinstance(call, Call):
        return (binding,)
    if not is_call_of(call, "relax.call_tir", "relax.call_tir_inplace"):
        return (binding,)
    (info,) = call.sinfo_args
    if not isinstance(info, TupleStructInfo):
        return (binding,)
    if not any(isinstance(field, TupleStructInfo) for field in info.fields):
        return (binding,)
    kind = type(binding.var)
    leaves = _leaves(info)
    flat = Call(call.op, call.args, call.attrs, [TupleStructInfo(leaves)], call.span)
    flat.struct_info_ = flat.sinfo_args[0]
    whole = kind("lv", flat.struct_info_)
    new: list[Binding] = [VarBinding(whole, flat, binding.span)]
    counter = itertools.count()

    def bound(value: RelaxExpr, info: StructInfo) -> Var:
        value.struct_info_ = info
        new.append(VarBinding(var := kind("lv", info), value, binding.span))
        return var

    def made(info: StructInfo) -> Var:
        if isinstance(info, TupleStructInfo):
            return bound(Tuple([made(field) for field in info.fields]), info)
        return bound(TupleGetItem(whole, next(counter)), info)

    result = Tuple([made(field) for field in info.fields])
    result.struct_info_ = info
    return [*new, VarBinding(binding.var, result, binding.span)]


def _leaves(info: StructInfo) -> list[StructInfo]:
    if isinstance(info, TupleStructInfo):
        return [leaf for field in info.fields for leaf in _leaves(field)]
    return [info]


def _flatten_argument(
    info: StructInfo, arg: RelaxExpr, tensors: list[RelaxExpr], given: dict[PrimExpr, PrimExpr]
) -> None:
    """Collect tensors, and what the call gives for each number of the group."""
    known = arg.struct_info
    if isinstance(info, TensorStructInfo):
        tensors.append(arg)
    elif isinstance(info, TupleStructInfo):
        for i, field in enumerate(info.fields):
            item = arg.fields[i] if isinstance(arg, Tuple) else TupleGetItem(arg, i)
            if item.struct_info_ is None:
                assert isinstance(known, TupleStructInfo), "the call was checked"
                item.struct_info_ = known.fields[i]
            _flatten_argument(field, item, tensors, given)
    elif isinstance(known, ShapeStructInfo) and known.values is not None:
        assert isinstance(info, ShapeStructInfo), "the call was checked"
        given.update(zip(info.values or (), known.values))
    elif isinstance(known, PrimStructInfo) and known.value is not None:
        assert isinstance(info, PrimStructInfo) and info.value is not None, "it was checked"
        given[info.value] = known.value
    else:
        raise CheckError(
            f"FuseTIR: an argument of a fused function has struct info {info}; legal: tensors, "
            "tuples of them, shapes and numbers whose values are known"
        )


class _GroupFuser:
    """Builds one PrimFunc from one group."""

    def __init__(self, mod: IRModule, group: Function) -> None:
        self._mod = mod
        self.function = group
        self._bindings = [b for block in group.body.blocks for b in block.bindings]
        self._bound = {b.var: b.value for b in self._bindings if isinstance(b, VarBinding)}
        self._values: dict[Var, Value] = {}
        self._buffer_names = NameTable()
        self._block_names = NameTable(["root"])
        self._allocs: list[Buffer] = []
        self._stmts: list[Stmt] = []
        self._params: list[TirVar] = []
        self._buffer_map: dict[TirVar, Buffer] = {}
        self._again: list[tuple[Buffer, Buffer]] = []  # a result, and one that is the same value
        self._target: object = None  # of the device whose tensors the kernels take

    def fuse(self) -> PrimFunc:
        self._separators = _Separators(self._mod, self.function)
        numbers: list[TirVar] = []
        for param in self.function.params:
            self._values[param] = self._make_param(
                param.name_hint, param.struct_info, numbers, (param,)
            )
        self._name_results()
        result = self.function.body.body
        outputs = self._make_outputs(result)
        for binding in self._bindings:
            self._bind(binding, outputs)
        for first, same in self._again:
            self._copy(first, same)
        told = {extent for buffer in self._buffer_map.values() for extent in buffer.shape}
        self.numbers = [number for number in numbers if number not in told]
        self._params.extend(self.numbers)
        attrs: dict[str, object] = {"tir.noalias": True}
        if self._target is not None:
            attrs["target"] = self._target
        body = BlockRealize(
            [], True, Block([], [], [], "root", SeqStmt.flatten(self._stmts), None, self._allocs)
        )
        return PrimFunc(
            self._params, body, None, self._buffer_map, attrs, _group_span(self.function)
        )

    # --- parameters and results ---

    def _add_buffer_param(self, buffer: Buffer, name: str) -> Buffer:
        handle = TirVar(f"p_{name}", "handle")
        self._params.append(handle)
        self._buffer_map[handle] = buffer
        return buffer

    def _new_buffer(
        self, name: str, info: TensorStructInfo, separators: Sequence[IntImm] = ()
    ) -> Buffer:
        if not isinstance(info.shape, ShapeExpr):
            raise CheckError(f"FuseTIR: the shape of {name!r} is not known: {info}")
        return decl_buffer(info.shape.values, info.dtype, name, axis_separators=separators)

    def _make_param(
        self, name: str, info: StructInfo, numbers: list[TirVar], path: ValuePath
    ) -> Value:
        if isinstance(info, TensorStructInfo):
            name = self._buffer_names.fresh(name)
            buffer = self._new_buffer(name, info, self._separators.of(path))
            return self._add_buffer_param(buffer, name)
        if isinstance(info, TupleStructInfo):
            return [
                self._make_param(f"{name}_{i}", field, numbers, (*path, i))
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
                raise CheckError(f"FuseTIR: parameter {name!r} of a group computes {expr}")
        return exprs

    def hands_on_operand(self) -> bool:
        """Whether a result, or an item of one, is a parameter."""
        stack: list[RelaxExpr] = [self.function.body.body]
        while stack:
            expr = self._shown(stack.pop())
            if isinstance(expr, Tuple):
                stack.extend(expr.fields)
            while isinstance(expr, TupleGetItem):
                expr = expr.tuple_value
            if expr in self.function.params:
                return True
        return False

    def _make_outputs(self, result: RelaxExpr) -> dict[Var, Value]:
        """Which variables are results, with the buffers that take them.

        `inplace` gets for each result the operand of the group that it lies in, or -1.
        """
        self.inplace: list[int] = []
        outputs: dict[Var, Value] = {}
        stack: list[RelaxExpr] = [result]
        while stack:
            expr = stack.pop()
            info = expr.struct_info
            if isinstance(info, TensorStructInfo):
                for var, made in self._make_output(expr, info, outputs).items():
                    outputs[var] = _merged(outputs.get(var), made)
                continue
            assert isinstance(info, TupleStructInfo), "a group gives tensors"
            value = self._shown(expr)
            fields: list[RelaxExpr] = []
            for i, field_info in enumerate(info.fields):
                item = value.fields[i] if isinstance(value, Tuple) else TupleGetItem(value, i)
                if item.struct_info_ is None:
                    item.struct_info_ = field_info
                fields.append(item)
            stack.extend(reversed(fields))
        return outputs

    def _make_output(
        self, result: RelaxExpr, info: TensorStructInfo, outputs: dict[Var, Value]
    ) -> dict[Var, Value]:
        """The buffer of one result: a new parameter, or the operand that it is written into."""
        shown = self._shown(result)
        origin = self._origin(shown)
        operand = self._operand(origin)
        if operand is not None:
            if origin is shown:
                raise CheckError(f"FuseTIR: {origin} is an operand of a group, and its result")
            index = self._params.index(operand)
            if index in self.inplace:
                raise CheckError(f"FuseTIR: two results of a group lie in its operand {origin}")
            self.inplace.append(index)
            return {}
        number = self.inplace.count(-1)
        self.inplace.append(-1)
        separators = self._separators.of_value(result)
        whole = origin.tuple_value if isinstance(origin, TupleGetItem) else origin
        index = origin.index if isinstance(origin, TupleGetItem) else 0
        buffer = self._new_buffer(self._result_names[whole, index], info, separators)
        self._add_buffer_param(buffer, f"output{number}")
        assert isinstance(whole, Var), "kernels give results"
        known = outputs.get(whole)
        before = known[index] if isinstance(known, list) else known
        if isinstance(before, Buffer):
            self._again.append((before, buffer))
            return {}
        if isinstance(origin, Var):
            return {origin: buffer}
        assert isinstance(origin, TupleGetItem), "an item of a variable, or all of it"
        whole_info = whole.struct_info
        assert isinstance(whole_info, TupleStructInfo), "an item is taken of a tuple"
        items: list[Value] = [None] * len(whole_info.fields)
        items[origin.index] = buffer
        return {whole: items}

    def _shown(self, expr: RelaxExpr) -> RelaxExpr:
        """What a value is another name of."""
        while True:
            if isinstance(expr, TupleGetItem):
                whole = self._shown(expr.tuple_value)
                if not isinstance(whole, Tuple):
                    same = whole is expr.tuple_value
                    return expr if same else TupleGetItem(whole, expr.index)
                expr = whole.fields[expr.index]
                continue
            value = self._bound.get(expr) if isinstance(expr, Var) else None
            if not isinstance(value, (Var, Tuple, TupleGetItem)):
                return expr
            expr = value

    def _origin(self, expr: RelaxExpr) -> RelaxExpr:
        """What a value is in the memory of: a variable, or an item of one."""
        while True:
            expr = self._shown(expr)
            index = expr.index if isinstance(expr, TupleGetItem) else 0
            name = expr.tuple_value if isinstance(expr, TupleGetItem) else expr
            value = self._bound.get(name) if isinstance(name, Var) else None
            operand = operand_of_result(value, index)
            if operand is None:
                return expr
            expr = operand

    def _operand(self, origin: RelaxExpr) -> TirVar | None:
        """The parameter that a value is passed by; None for what the group makes."""
        root = origin
        while isinstance(root, TupleGetItem):
            root = root.tuple_value
        if root not in self._values:
            return None
        buffer = self._value(origin)
        return next(p for p in self._params if self._buffer_map[p] is buffer)

    def _name_results(self) -> None:
        """Names of what the kernels give, in their order: `add_intermediate` for a buffer `add`."""
        self._result_names: dict[tuple[RelaxExpr, int], str] = {}
        for binding in self._bindings:
            call = binding.value
            if not isinstance(call, Call):
                continue
            kernel = self._kernel(call)
            if kernel is None:
                raise CheckError(f"FuseTIR: a group calls {call.op}; legal: call_tir")
            info = call.struct_info
            count = len(info.fields) if isinstance(info, TupleStructInfo) else 1
            own = [i for i, operand in enumerate(operand_indices(call, count)) if operand < 0]
            buffers = [kernel.buffer_map[p] for p in kernel.params if p in kernel.buffer_map]
            for i, buffer in zip(own, buffers[len(buffers) - len(own) :]):
                name = self._buffer_names.fresh(f"{buffer.name}_intermediate")
                self._result_names[binding.var, i] = name

    # --- bindings ---

    def _kernel(self, call: Call) -> PrimFunc | None:
        if is_call_of(call, "relax.call_tir", "relax.call_tir_inplace"):
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
        raise CheckError(f"FuseTIR: a group holds {type(expr).__name__}; legal: call_tir, tuples")

    def _bind(self, binding: Binding, outputs: dict[Var, Value]) -> None:
        value = binding.value
        if not isinstance(binding, VarBinding):
            raise CheckError("FuseTIR: a group holds a match_cast")
        if isinstance(value, Call):
            kernel = self._kernel(value)
            assert kernel is not None, "results were named"
            self._values[binding.var] = self._inline(kernel, value, binding.var, outputs)
        else:
            self._values[binding.var] = self._value(value)

    def _inline(
        self, kernel: PrimFunc, call: Call, var: Var, outputs: dict[Var, Value]
    ) -> Value:
        """Append the kernel's body with its buffers replaced; give the buffers of its results."""
        self._target = kernel.attrs.get("target", self._target)
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
        results = self._result_buffers(kernel, call, var, result_params, outputs.get(var))
        for param, result in zip(result_params, results):
            _match(kernel.buffer_map[param], result, symbols, replaced)
        renewer = DefRenewer(symbols, replaced)
        self._append(renewer.visit_stmt(kernel.body))
        given = _flat_buffers(outputs.get(var))
        self._allocs.extend(b for b in results if not any(b is known for known in given))
        info = call.struct_info
        new = iter(results)
        count = len(info.fields) if isinstance(info, TupleStructInfo) else 1
        several: list[Value] = [
            args[operand] if operand >= 0 else next(new)
            for operand in operand_indices(call, count)
        ]
        return several if isinstance(info, TupleStructInfo) else several[0]

    def _result_buffers(
        self, kernel: PrimFunc, call: Call, var: Var, params: list[TirVar], given: Value | None
    ) -> list[Buffer]:
        """The buffers of those results of a call that lie in no operand."""
        info = call.struct_info
        infos = info.fields if isinstance(info, TupleStructInfo) else (info,)
        known = given if isinstance(given, list) else [given] * len(infos)
        own = [i for i, operand in enumerate(operand_indices(call, len(infos))) if operand < 0]
        made = []
        for param, i in zip(params, own):
            one, buffer = infos[i], known[i]
            assert isinstance(one, TensorStructInfo), "a kernel gives tensors"
            if not isinstance(buffer, Buffer):
                separators = kernel.buffer_map[param].axis_separators
                buffer = self._new_buffer(self._result_names[var, i], one, separators)
            made.append(buffer)
        return made

    def _copy(self, result: Buffer, same: Buffer) -> None:
        """Write what is given twice a second time."""
        source = te.placeholder(result.shape, result.dtype, result.name)
        copy = te.create_prim_func([source, te.compute(result.shape, lambda *i: source[i], "same")])
        symbols: dict[TirVar, PrimExpr] = {}
        replaced: dict[Buffer, Buffer] = {}
        for param, buffer in zip(copy.params, (result, same)):
            _match(copy.buffer_map[param], buffer, symbols, replaced)
        self._append(DefRenewer(symbols, replaced).visit_stmt(copy.body))

    def _append(self, body: Stmt) -> None:
        """Take the statements out of the kernel's root block, with fresh block names."""
        if isinstance(body, BlockRealize) and not body.block.iter_vars:
            root = body.block
            self._allocs.extend(root.alloc_buffers)
            body = root.body
        self._stmts.append(_BlockRenamer(self._block_names).visit_stmt(body))


class _Separators:
    """How kernels of a group divide the axes of the values that they read and write."""

    def __init__(self, mod: IRModule, group: Function) -> None:
        self._bound = {b.var: b.value for b in all_bindings(group)}
        self._seen: dict[ValuePath, tuple[Var, Buffer]] = {}
        for binding in all_bindings(group):
            call = binding.value
            if is_call_of(call, "relax.call_tir", "relax.call_tir_inplace"):
                kernel = mod.functions.get(call.args[0])  # type: ignore[call-overload]
                if isinstance(kernel, PrimFunc):
                    self._see(binding.var, call, kernel)

    def _see(self, var: Var, call: Call, kernel: PrimFunc) -> None:
        known = kernel.buffer_map
        buffers = [known[param] for param in kernel.params if param in known]
        operands = call.args[1]
        paths: list[ValuePath] = []
        if isinstance(operands, Tuple):
            paths = [self._path(field) for field in operands.fields]
        info = var.struct_info
        count = len(info.fields) if isinstance(info, TupleStructInfo) else 1
        for i, operand in enumerate(operand_indices(call, count)):
            if operand < 0:
                paths.append((var, i) if isinstance(info, TupleStructInfo) else (var,))
        for path, buffer in zip(paths, buffers):
            if not path:
                continue
            root = path[0]
            assert isinstance(root, Var), "paths begin with a variable"
            _, old = self._seen.setdefault(path, (root, buffer))
            if not structural_equal(old.axis_separators, buffer.axis_separators):
                raise CheckError(
                    f"Inconsistent buffers {old} and {buffer} mapped to the same relax var: {root}"
                )

    def _path(self, expr: RelaxExpr) -> ValuePath:
        """A value as a variable and the items taken of it; nothing if it is no variable."""
        items: list[int] = []
        while True:
            if isinstance(expr, Var):
                bound = self._bound.get(expr)
                operand = operand_of_result(bound, items[-1] if items else 0)
                if operand is not None:
                    if isinstance(expr.struct_info, TupleStructInfo):
                        items.pop()
                    expr = operand
                elif not isinstance(bound, (Var, Tuple, TupleGetItem)):
                    return (expr, *reversed(items))
                else:
                    expr = bound
            elif isinstance(expr, TupleGetItem):
                items.append(expr.index)
                expr = expr.tuple_value
            elif isinstance(expr, Tuple) and items:
                expr = expr.fields[items.pop()]
            else:
                return ()

    def of(self, path: ValuePath) -> Sequence[IntImm]:
        """The separators of the buffer that kernels see at a path."""
        root, *items = path
        expr: RelaxExpr = root  # type: ignore[assignment]
        for item in items:
            expr = TupleGetItem(expr, item)  # type: ignore[arg-type]
        return self.of_value(expr)

    def of_value(self, expr: RelaxExpr) -> Sequence[IntImm]:
        """As `of`, for the path of a value."""
        found = self._seen.get(self._path(expr))
        return () if found is None else found[1].axis_separators


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


def _distinct(regions: Sequence[BufferRegion]) -> list[BufferRegion]:
    """The regions in their order, without those that stand there already."""
    found: list[BufferRegion] = []
    for region in regions:
        if not any(region_deep_equal(region, known) for known in found):
            found.append(region)
    return found


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
    """Gives blocks names that are unique in the fused function, and each region once.

    A kernel that gets one tensor for two of its parameters has come to read it twice.
    """

    def __init__(self, names: NameTable) -> None:
        super().__init__()
        self._names = names

    def visit_block_(self, op: Block) -> Stmt:
        name = self._names.fresh(op.name_hint)
        new = super().visit_block_(op)
        assert isinstance(new, Block), "a renamer keeps blocks"
        reads, writes = _distinct(new.reads), _distinct(new.writes)
        kept = len(reads) == len(new.reads) and len(writes) == len(new.writes)
        if name == op.name_hint and kept:
            return new
        return Block(
            new.iter_vars, reads, writes, name, new.body, new.init, new.alloc_buffers,
            new.match_buffers, new.annotations, new.span,
        )  # fmt: skip
