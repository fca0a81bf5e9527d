"""Launches that are the same in every run are recorded once, and replayed.

    storage = R.memory.alloc_storage(R.shape([32]), ...)
    a = R.memory.alloc_tensor(storage, ...)         gv = get_cached_alloc(cuda_graph_alloc)
    _ = cls.exp(x, a)                               storage = gv[0]
    b = R.memory.alloc_tensor(storage, ...)         a = R.memory.alloc_tensor(storage, ...)
    _ = cls.exp(a, b)                       ->      _ = cls.exp(x, a)
    _ = cls.exp(b, a)                               b = R.memory.alloc_tensor(storage, ...)
                                                    gv1 = run_or_capture(main_cuda_graph_capture,
                                                                         (a, b))

Storage of known size is allocated once and kept, but for that of a function's result:
`cuda_graph_alloc` makes it for all functions of the module, of which one runs at a time, so that
the largest of each, the second largest and so on are the same. A region goes from the first launch
whose operands all lie in such storage to the next value of which that does not hold, but for memory
that is allocated, shapes and checks; it becomes a function of what it reads, which is called where
it begins, and gives what is read after it, in the order of its readers. Parameters
after the first `num_input` are taken to be the same in every run. So are the symbolic variables
that the attribute `relax.rewrite_cuda_graph.capture_symbolic_vars` names; a graph is kept for each
of their values. Works on lowered functions, and only with the option
`relax.backend.use_cuda_graph`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tvm import tir
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.analysis import free_vars
from tvm.relax.bind import copy_with_new_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.int_attrs import int_attr
from tvm.relax.op.base import call_builtin_with_ctx
from tvm.relax.struct_info import ShapeStructInfo, TupleStructInfo
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import rebuild_seq, sub_exprs, vars_used, with_body
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.functor import vars_in

_OPTION = "relax.backend.use_cuda_graph"
_SYMBOLS = "relax.rewrite_cuda_graph.capture_symbolic_vars"
_ALLOC, _RUN = "vm.builtin.cuda_graph.get_cached_alloc", "vm.builtin.cuda_graph.run_or_capture"
_NULL = "relax.null_value"
_VIEWS = ("relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset")


@relax_module_pass("RewriteCUDAGraph")
def RewriteCUDAGraph(mod: IRModule, ctx: PassContext) -> IRModule:
    """Functions keep their storage and record their launches."""
    if not ctx.config.get(_OPTION):
        return mod
    bb = BlockBuilder(mod)
    count = itertools.count()
    rewriters = [
        _Rewriter(mod, bb, var, func, count)
        for var, func in mod.functions_items()
        if isinstance(func, Function) and _is_lowered(func)
    ]
    _plan_storages(bb, rewriters)
    for rewriter in rewriters:
        rewriter.run()
    return bb.get()


def _is_lowered(func: Function) -> bool:
    return not any(isinstance(block, DataflowBlock) for block in func.body.blocks)


def _op(value: RelaxExpr) -> str:
    """The name of the operator that a value is a call of, or nothing."""
    return value.op.name if isinstance(value, Call) and isinstance(value.op, Op) else ""


def _plan_storages(bb: BlockBuilder, rewriters: Sequence[_Rewriter]) -> None:
    """One function that allocates for all, and for each of them which of its items are theirs.

    By scope and type; the i-th largest storages of all functions share one of the largest size.
    """
    shared: dict[tuple[str, str], list[list[tuple[_Rewriter, VarBinding]]]] = {}
    for one in rewriters:
        own: dict[tuple[str, str], list[VarBinding]] = {}
        for binding in one.storages:
            call = binding.value
            assert isinstance(call, Call), "a call that allocates"
            own.setdefault((str(call.args[2]), str(call.args[3])), []).append(binding)
        for key, bindings in own.items():
            slots = shared.setdefault(key, [])
            for i, binding in enumerate(sorted(bindings, key=_size_of, reverse=True)):
                if i == len(slots):
                    slots.append([])
                slots[i].append((one, binding))
    every = [slot for slots in shared.values() for slot in slots]
    if not every:
        return
    largest = [max((b for _, b in slot), key=_size_of) for slot in every]
    fresh = [Var(b.var.name_hint, b.var.struct_info) for b in largest]
    values = [VarBinding(var, b.value, b.span) for var, b in zip(fresh, largest)]
    target = _lifted(bb, [], values, Tuple(fresh), "cuda_graph_alloc")
    for index, slot in enumerate(every):
        for one, binding in slot:
            one.allocator = target
            one.storage_indices[binding.var] = index


def _size_of(binding: VarBinding) -> int:
    assert isinstance(binding.value, Call), "a call that allocates"
    (size,) = binding.value.args[0].values  # type: ignore[attr-defined]
    return int(size)


class _Rewriter:
    """One function. `count` numbers the regions of the module."""

    def __init__(
        self,
        mod: IRModule,
        bb: BlockBuilder,
        name: GlobalVar,
        func: Function,
        count: Iterator[int],
    ) -> None:
        self._mod, self._bb, self._name, self._func, self._count = mod, bb, name, func, count
        named: object = func.attrs.get(_SYMBOLS, ())
        self._symbols = {str(one) for one in named}  # type: ignore[attr-defined]
        rest = func.params[int_attr(func, "num_input", len(func.params)) :]
        self._static: set[Var] = set(rest)
        given = _storages_of_result(func.body)
        self.storages = [
            b for block in func.body.blocks for b in block.bindings
            if isinstance(b, VarBinding) and b.var not in given and _is_fixed_storage(b.value)
        ]  # fmt: skip
        # what the module's plan says: the function that allocates, and the index of each storage
        self.allocator: GlobalVar | None = None
        self.storage_indices: dict[Var, int] = {}
        self._taken: set[Var] = set()
        self._holder: Var | None = None

    def run(self) -> None:
        """Put the new function into the module, if it is one."""
        seq = self._func.body
        later = list(free_vars(seq.body))
        needed: list[list[Var]] = []  # what is read after each block, in order
        for block in reversed(seq.blocks):
            needed.append(later)
            later = [var for b in block.bindings for var in _reads(b.value)] + later
        needed.reverse()
        ends = iter(needed)
        body = rebuild_seq(seq, lambda block: self._block(block, next(ends)))
        new = with_body(self._func, body)
        if new is not self._func:
            self._bb.update_func(self._name, new)

    # --- what stays the same ---

    def _is_static(self, expr: RelaxExpr) -> bool:
        if isinstance(expr, Var):
            sizes = tir_vars_in_struct_info(expr.struct_info)
            return expr in self._static and all(var.name in self._symbols for var in sizes)
        if isinstance(expr, Tuple):
            return all(self._is_static(field) for field in expr.fields)
        if isinstance(expr, TupleGetItem):
            return self._is_static(expr.tuple_value)
        if isinstance(expr, (ShapeExpr, PrimValue)):
            return all(var.name in self._symbols for var in _symbols_of(expr))
        return isinstance(expr, (Constant, StringImm, DataTypeImm))

    def _is_launch(self, value: RelaxExpr) -> bool:
        """True for calls that put work on the device."""
        if not isinstance(value, Call):
            return False
        if isinstance(value.op, GlobalVar):
            return isinstance(self._mod.functions.get(value.op), PrimFunc)
        if isinstance(value.op, ExternFunc):
            return not str(value.op.global_symbol).startswith("vm.builtin")
        name = _op(value)
        return name == "relax.call_builtin_with_ctx" or not (
            name.startswith(("relax.memory", "relax.builtin", "relax.vm"))
            or name in (*_VIEWS, _NULL)
        )

    def _may_be_recorded(self, binding: Binding) -> bool:
        value = binding.value
        if not isinstance(binding, VarBinding) or isinstance(value, (If, Function, SeqExpr)):
            return False
        if isinstance(value, (ShapeExpr, PrimValue, StringImm, DataTypeImm)):
            return False  # no tensors
        if not isinstance(value, Call):
            return self._is_static(value)
        name = _op(value)
        if isinstance(value.op, Op) and not self._is_launch(value):
            kept = ("relax.memory.alloc_tensor", "relax.memory.kill_tensor", _NULL, *_VIEWS)
            if name not in kept:
                return False
        elif not self._is_launch(value) or name == "relax.call_builtin_with_ctx":
            return False
        return all(self._is_static(arg) for arg in value.args)

    # --- the new bindings ---

    def _block(self, block: BindingBlock, after: list[Var]) -> BindingBlock:
        made: list[Binding] = []
        region: list[VarBinding] = []
        between: list[Binding] = []  # the region's, and what stands among them without ending it
        reads = [_reads(binding.value) for binding in block.bindings]

        def close(at: int) -> None:
            if region:
                later = [var for some in reads[at:] for var in some] + after
                made.extend(self._recorded(region, between, later))
            region.clear()
            between.clear()

        for i, binding in enumerate(block.bindings):
            if binding.var in self.storage_indices:
                made += self._kept_storage(binding)
                continue
            recorded = self._may_be_recorded(binding)
            if recorded:
                self._static.add(binding.var)
                if region or self._is_launch(binding.value):
                    assert isinstance(binding, VarBinding), "only these are recorded"
                    region.append(binding)
                    between.append(binding)
                    continue
            if not isinstance(binding.value, (Call, Var)) and self._is_static(binding.value):
                self._static.add(binding.var)
            if region and _ends_no_region(binding):
                between.append(binding)
                continue
            close(i)
            made.append(binding)
        close(len(reads))
        return type(block)(made, block.span)

    def _kept_storage(self, binding: Binding) -> Iterator[Binding]:
        """Storage as an item of what is allocated once."""
        if self._holder is None:
            assert self.allocator is not None, "there are storages, so there is one"
            made = self._bb.get()[self.allocator]
            assert isinstance(made, Function), "it has been put there"
            args = [self.allocator, PrimValue(0)]
            call = call_builtin_with_ctx(_ALLOC, args, sinfo_args=made.ret_struct_info)
            self._holder = self._new_var(call)
            yield VarBinding(self._holder, self._bb.normalize(call), binding.span)
        self._static.add(binding.var)
        item = TupleGetItem(self._holder, self.storage_indices[binding.var])
        yield VarBinding(binding.var, self._bb.normalize(item), binding.span)

    def _recorded(
        self, region: Sequence[VarBinding], between: Sequence[Binding], after: list[Var]
    ) -> Iterator[Binding]:
        """A call of the region as a function, what stood within it, and what is read after it."""
        inside = {one.var for one in region}
        inputs = list(dict.fromkeys(
            var for one in region for var in _reads(one.value) if var not in inside
        ))  # fmt: skip
        others = [one for one in between if one.var not in inside]
        after = [var for one in others for var in _reads(one.value)] + after
        outputs = list(dict.fromkeys(var for var in after if var in inside))
        symbols = list(dict.fromkeys(
            var for one in region for var in _symbols_in(one) if var.name in self._symbols
        ))  # fmt: skip
        params = [*inputs, Var("shape_expr", ShapeStructInfo(symbols))] if symbols else inputs
        name = f"{self._name.name_hint}_cuda_graph_capture"
        target = _lifted(self._bb, params, region, Tuple(outputs), name)
        given: list[RelaxExpr] = [*inputs]
        key: list[RelaxExpr] = []
        if symbols:  # once for the function, and once to tell which graph it is
            given.append(ShapeExpr(symbols))
            key.append(ShapeExpr(symbols))
        args: list[RelaxExpr] = [target, Tuple(given), PrimValue(next(self._count)), *key]
        info = TupleStructInfo([var.struct_info for var in outputs])
        call = call_builtin_with_ctx(_RUN, args, sinfo_args=info)
        held = self._new_var(call)
        yield from (one for one in others if one.var in inputs)
        yield VarBinding(held, self._bb.normalize(call), region[0].span)
        for each in between:
            if each.var not in inside:
                if each.var not in inputs:
                    yield each
            elif each.var in outputs:
                item = self._bb.normalize(TupleGetItem(held, outputs.index(each.var)))
                yield VarBinding(each.var, item, each.span)

    def _new_var(self, call: Call) -> Var:
        normal = self._bb.normalize(call)
        return Var(self._bb.get_unique_name("gv"), normal.struct_info_)


def _lifted(
    bb: BlockBuilder,
    params: Sequence[Var],
    bindings: Sequence[VarBinding],
    result: Tuple,
    name: str,
) -> GlobalVar:
    """A private function with variables of its own."""
    gv = Var("gv", bb.normalize(result).struct_info_)
    nothing = Tuple([])
    nothing.struct_info_ = gv.struct_info_
    body = SeqExpr(
        [BindingBlock([*bindings, VarBinding(gv, result)])], gv if result.fields else nothing
    )
    raw = Function(params, body, gv.struct_info)
    return bb.add_func(copy_with_new_vars(raw).with_attr("relax.force_pure", True), name)


def _is_fixed_storage(value: RelaxExpr) -> bool:
    if _op(value) != "relax.memory.alloc_storage":
        return False
    assert isinstance(value, Call), "asked above"
    size = value.args[0]
    return isinstance(size, ShapeExpr) and all(isinstance(v, IntImm) for v in size.values)


def _storages_of_result(seq: SeqExpr) -> set[Var]:
    """The storages of the tensors that a function gives: they are its caller's, run by run."""
    given: set[Var] = set()
    storages: set[Var] = set()

    def follow(part: SeqExpr) -> None:
        given.update(free_vars(part.body))
        for block in reversed(part.blocks):
            for binding in reversed(block.bindings):
                value = binding.value
                if binding.var not in given:
                    continue
                if isinstance(value, If):
                    for branch in (value.true_branch, value.false_branch):
                        assert isinstance(branch, SeqExpr), "branches are sequences"
                        follow(branch)
                elif isinstance(value, (Var, Tuple, TupleGetItem)) or _op(value) in _VIEWS:
                    given.update(_reads(value))
                elif _op(value) == "relax.memory.alloc_tensor":
                    storages.update(_reads(value))

    follow(seq)
    return storages


def _ends_no_region(binding: Binding) -> bool:
    """Whether a binding that is not recorded may stand among those that are.

    It puts no work on the device, and nobody can tell whether it comes before or after that.
    """
    if isinstance(binding, MatchCast):
        return True
    names = ("relax.builtin.alloc_tensor", "relax.memory.alloc_storage")
    leaves = (ShapeExpr, PrimValue, StringImm, DataTypeImm)
    return isinstance(binding.value, leaves) or _op(binding.value) in names


def _reads(value: RelaxExpr) -> list[Var]:
    """The variables from outside that a value reads, those in its branches too."""
    return free_vars(value) if isinstance(value, (If, Function)) else list(vars_used(value))


def _symbols_of(expr: RelaxExpr) -> list[tir.Var]:
    """The symbolic variables of a shape or a number."""
    values: Sequence[object] = ()
    if isinstance(expr, ShapeExpr):
        values = expr.values
    elif isinstance(expr, PrimValue):
        values = (expr.value,)
    return [node for v in values if isinstance(v, PrimExpr) for node in vars_in(v)]  # fmt: skip


def _symbols_in(binding: VarBinding) -> list[tir.Var]:
    """The symbolic variables that a binding's operands and result speak of."""
    found = [var for expr in sub_exprs(binding.value) for var in _symbols_of(expr)]
    for var in (binding.var, *_reads(binding.value)):
        found += tir_vars_in_struct_info(var.struct_info)
    return found
