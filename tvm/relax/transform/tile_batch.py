"""Layers whose data leaves the caches run image by image, from the first to the last of them.

    for a batch of 8:  conv1, conv2, ..., conv20        ->     for each image:  conv1, ..., conv7
                       each over all images                    then conv8, ..., conv20 over all

A kernel over a batch writes all images before the next kernel reads the first: in the early layers
of a convolutional network that is tens of megabytes. One image stays near the core from layer to
layer. What it costs is that weights are read once an image, so layers with large weights and small
images stay as they are. Chains of layers that gain are found by an estimate of the bytes that move
(C. Dubach et al. and others call the order depth first, or fused layers: M. Alwani et al., "Fused-
Layer CNN Accelerators", 2016, tile images as well).

The chain becomes a private function of a batch of one, called by a loop (`relax.loops.scan`); the
batch may have any size, one that only the running program knows, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod

from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.span import span_scope
from tvm.ir.structural import structural_equal
from tvm.ir.transform import ModulePass, PassContext, PassInfo
from tvm.relax.bind import copy_with_new_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    Function,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.loops import scan
from tvm.relax.struct_info import (
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    const_int,
)
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.batch_rows import Rows
from tvm.relax.transform.locality import ENOUGH, Locality
from tvm.relax.transform.rebuild import (
    replace_operands,
    rewrite_functions,
    vars_needed,
    vars_used,
    with_body,
)
from tvm.target.cpu_model import CpuModel
from tvm.tir.analysis import undefined_vars
from tvm.tir.expr import IntImm
from tvm.tir.expr import Var as TirVar

_USUAL_BATCH = 8
_USUAL_EXTENT = 224  # of an image whose size is open
# What begins a layer, by the beginnings of names; other operators are fused into it.
_ANCHORS = ("relax.nn.conv", "relax.nn.max_pool", "relax.nn.avg_pool", "relax.nn.pad",
            "relax.nn.softmax", "relax.matmul", "relax.image", "relax.concat")  # fmt: skip


class TileBatch(ModulePass):
    """Put loops over the images of a batch around the chains of layers that gain by it."""

    def __init__(self, cpu: CpuModel) -> None:
        self._cpu = cpu
        super().__init__(self._run, PassInfo(0, "TileBatch"))

    def _run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return rewrite_functions(mod, self._function)

    def _function(self, bb: BlockBuilder, func: Function) -> Function:
        batch = None if func.attrs.get("Primitive") is not None else _batch(func)
        return func if batch is None else _Tiler(bb, self._cpu, Rows(batch)).function(func)


def _batch(func: Function) -> PrimExpr | None:
    """The first extent of the first image among the parameters, if there may be several."""
    for param in func.params:
        info = param.struct_info_
        if isinstance(info, TensorStructInfo) and info.ndim >= 3 and info.values:
            extent = info.values[0]
            several = isinstance(extent, TirVar) or (const_int(extent) or 0) > 1
            return extent if several else None
    return None


@dataclass
class _Layer:
    """An operator and what is fused behind it: bindings `first` to `last`, and what it moves."""

    first: int
    last: int
    data: float = 0.0  # bytes of one image, in and out
    weights: float = 0.0
    fixed: bool = False  # nothing that gains or costs, as operators on what is no image
    made: set[Var] = field(default_factory=set)


class _Tiler:
    def __init__(self, bb: BlockBuilder, cpu: CpuModel, rows: Rows) -> None:
        self._bb = bb
        self._cache = Locality(cpu)
        self._rows = rows
        self._count = const_int(rows.extent) or _USUAL_BATCH

    def function(self, func: Function) -> Function:
        results = set(vars_used(func.body.body))
        blocks: list[BindingBlock] = []
        for i, block in enumerate(func.body.blocks):
            if isinstance(block, DataflowBlock):
                later = [b for rest in func.body.blocks[i + 1 :] for b in rest.bindings]
                needed = results.union(*(set(vars_needed(b.value)) for b in later))
                block = self._block(block, func.params, needed)
            blocks.append(block)
        if all(a is b for a, b in zip(blocks, func.body.blocks)):
            return func
        return with_body(func, SeqExpr(blocks, func.body.body, func.body.span))

    def _block(self, block: DataflowBlock, params: Sequence[Var], needed: set[Var]) -> BindingBlock:
        bindings = list(block.bindings)
        chains = [chain for run in self._runs(bindings) for chain in self._chains(run)]
        if not chains:
            return block
        starts = {chain[0].first: chain for chain in chains}

        def fill(_: BindingBlock) -> None:
            i = 0
            while i < len(bindings):
                end = starts[i][-1].last + 1 if i in starts else i
                if end > i and self._loop(
                    bindings[i:end],
                    needed.union(v for b in bindings[end:] for v in vars_needed(b.value)),
                ):
                    i = end
                else:
                    self._bb.emit_normalized(bindings[i])
                    i += 1

        self._bb.begin_scope(params)
        made = self._bb.rebuilt(block, fill)
        self._bb.end_scope()
        return made

    # --- which layers ---

    def _runs(self, bindings: Sequence[Binding]) -> Iterator[list[_Layer]]:
        """Layers one after another that all go row by row."""
        run: list[_Layer] = []
        for i, binding in enumerate(bindings):
            kind = self._kind(binding)
            if kind is None:
                if run:
                    yield run
                run = []
                continue
            if kind or not run:
                run.append(_Layer(i, i))
            self._count_bytes(run[-1], i, binding)
        if run:
            yield run

    def _kind(self, binding: Binding) -> bool | None:
        """None for what ends a run, True for what begins a layer, False for what goes with one."""
        value = binding.value
        if not isinstance(binding, VarBinding):
            return None
        if isinstance(value, TupleGetItem):
            return False if self._rows.has(value.struct_info_) else None
        if not isinstance(value, Call) or not self._rows.apart(value):
            return None
        name = getattr(value.op, "name", "")
        return name.startswith(_ANCHORS)

    def _count_bytes(self, layer: _Layer, index: int, binding: Binding) -> None:
        """What a binding adds: operands made before the layer; its own result replaces others."""
        layer.last = index
        value = binding.value
        for arg in value.args if isinstance(value, Call) else ():
            for one in arg.fields if isinstance(arg, Tuple) else (arg,):
                if isinstance(one, Constant) or (
                    isinstance(one, Var) and not self._rows.has(one.struct_info_)
                ):
                    layer.weights += _nbytes(one.struct_info_)
                elif isinstance(one, Var) and one not in layer.made:
                    layer.data += _nbytes(self._rows.one(one.struct_info))
        if not layer.made:
            layer.data += _nbytes(self._rows.one(binding.var.struct_info))
        layer.made.add(binding.var)

    def _chains(self, run: list[_Layer]) -> list[list[_Layer]]:
        """The parts of a run that gain the most, each enough."""
        total = sum(layer.weights for layer in run)
        gains = [self._gain(layer, total) for layer in run]
        found: list[list[_Layer]] = []
        parts = [(0, len(run))]
        while parts:
            low, high = parts.pop()
            gain, start, end = _best(gains, low, high)
            if gain >= ENOUGH:
                if end - start > 1:  # what one layer alone reads and writes moves in any order
                    found.append(run[start:end])
                parts += [(low, start), (end, high)]
        return found

    def _gain(self, layer: _Layer, weights: float) -> float:
        """Nanoseconds that a layer gains, or loses, where images go through it one by one."""
        cache, more = self._cache, self._count - 1
        moved = cache.moved(layer.data * self._count, layer.data)
        return moved - more * (cache.weights(layer.weights, weights) + cache.call)

    # --- the loop ---

    def _loop(self, bindings: Sequence[Binding], needed: set[Var]) -> bool:
        """Emit a loop in place of bindings; it binds those of their variables that are needed.

        False where one of them, or of what they read, is no tensor: a chain that is cut within a
        split stays as it is.
        """
        bb, rows = self._bb, self._rows
        own = {binding.var for binding in bindings}
        used = dict.fromkeys(v for b in bindings for v in vars_needed(b.value) if v not in own)
        scanned = [v for v in used if rows.has(v.struct_info_)]
        outer = [v for v in used if not rows.has(v.struct_info_)]
        results = [b.var for b in bindings if b.var in needed]
        if not all(isinstance(var.struct_info_, TensorStructInfo) for var in (*scanned, *results)):
            return False
        sizes = self._sizes(bindings, [*scanned, *outer])
        with span_scope(bindings[0].span):
            one = self._one_image(bindings, scanned, outer, sizes, results)
            if one is None:
                return False

            def image(
                state: Sequence[RelaxExpr], slices: Sequence[RelaxExpr], around: Sequence[RelaxExpr]
            ) -> tuple[list[RelaxExpr], list[RelaxExpr]]:
                made = bb.emit(Call(one, [*slices, *around[: len(given)]]))
                if len(results) == 1:
                    return [], [made]
                return [], [bb.emit(TupleGetItem(made, i)) for i in range(len(results))]

            given = [*outer, ShapeExpr(sizes)] if sizes else outer
            infos = [rows.one(var.struct_info) for var in results]
            _, stacked = scan(bb, [], scanned, given, image, infos, in_batches=True)
            for var, value in zip(results, stacked):
                bb.emit_normalized(VarBinding(var, bb.normalize(value)))
        return True

    def _sizes(self, bindings: Sequence[Binding], params: Sequence[Var]) -> list[TirVar]:
        """The symbols of a chain that no extent of its parameters tells by itself."""
        rows = self._rows
        of_one = [rows.one(v.struct_info) if rows.has(v.struct_info_) else v.struct_info
                  for v in params]  # fmt: skip
        told = {extent for info in of_one if isinstance(info, TensorStructInfo)
                for extent in info.values or ()}  # fmt: skip
        inner = [rows.one(binding.var.struct_info) for binding in bindings]
        symbols = dict.fromkeys(v for info in of_one + inner for v in tir_vars_in_struct_info(info))
        return [symbol for symbol in symbols if symbol not in told]

    def _one_image(
        self, bindings: Sequence[Binding], scanned: Sequence[Var], outer: Sequence[Var],
        sizes: Sequence[TirVar], results: Sequence[Var],
    ) -> RelaxExpr | None:  # fmt: skip
        """A private function of the bindings for a batch of one; None if it is of other shapes."""
        bb, rows = self._bb, self._rows
        params = [Var(v.name_hint, rows.one(v.struct_info)) for v in scanned]
        params += [Var(v.name_hint, v.struct_info) for v in outer]
        new: dict[Var, RelaxExpr] = dict(zip((*scanned, *outer), params))
        if sizes:
            params.append(Var("sizes", ShapeStructInfo(sizes)))
        with bb.aside():
            bb.begin_scope(params)
            bb.begin_dataflow_block()
            for binding in bindings:
                value = replace_operands(binding.value, partial(_replaced, new))
                if isinstance(value, Call):
                    value = rows.call_of_one(value, value.args)
                with span_scope(binding.span or value.span):
                    made = bb.normalize(value)
                    emit = bb.emit_output if binding.var in results else bb.emit
                    new[binding.var] = emit(made, binding.var.name_hint)
                if not structural_equal(made.struct_info, rows.one(binding.var.struct_info)):
                    return None
            fields = [new[var] for var in results]
            block = bb.end_block()
            bb.end_scope()
            body = SeqExpr([block], fields[0] if len(fields) == 1 else Tuple(fields))
            made_body = bb.normalize(body)
            func = Function(params, made_body, made_body.struct_info, True)
            return bb.add_func(copy_with_new_vars(func), "image")


def _replaced(new: dict[Var, RelaxExpr], expr: RelaxExpr) -> RelaxExpr | None:
    return new.get(expr) if isinstance(expr, Var) else None


def _best(gains: Sequence[float], low: int, high: int) -> tuple[float, int, int]:
    """The part between two indices whose sum is largest (J. Bentley, 1984): sum, start, end."""
    best, at, sum_, start = (0.0, low, low), low, 0.0, low
    for at in range(low, high):
        if sum_ <= 0:
            sum_, start = 0.0, at
        sum_ += gains[at]
        if sum_ > best[0]:
            best = (sum_, start, at + 1)
    return best


def _nbytes(info: object) -> float:
    """The bytes of a value; open extents count as those of a usual image."""
    if isinstance(info, TupleStructInfo):
        return sum(_nbytes(field) for field in info.fields)
    if not isinstance(info, TensorStructInfo) or info.values is None:
        return 0.0
    extents = [v.value if isinstance(v, IntImm) else _usual(v) for v in info.values]
    return float(prod(extents) * info.dtype.itemsize)


def _usual(extent: PrimExpr) -> int:
    from tvm.tir.interp import evaluate  # twenty modules, for open extents alone

    return int(evaluate(extent, dict.fromkeys(undefined_vars(extent), _USUAL_EXTENT)))
