"""Loop programs from tensor expressions: one block a stage, in the order of their dependences.

C = te.compute((n, m), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")

for i, j, r in T.grid(n, m, k):
    with T.block("C"):
        v_i, v_j, v_r = T.axis.remap("SSR", [i, j, r])
        with T.init():
            C[v_i, v_j] = 0
        C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_r] * B[v_r, v_j]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.arith import Analyzer
from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.support.naming import NameTable
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import (
    BOOL,
    BufferLoad,
    IntImm,
    IterVar,
    ProducerLoad,
    Reduce,
    Var,
    as_expr,
)
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, Substituter, substitute, vars_in
from tvm.tir.index_dtype import with_index_dtype
from tvm.tir.op.arith import cast, is_one, is_zero
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)

from .block_regions import extern_regions, with_access_regions
from .tensor import ComputeOp, ExternOp, Operation, PlaceholderOp, Tensor

LAYOUT_FREE = "layout_free_placeholders"


@explained
def create_prim_func(
    ops: Sequence[Tensor | Var] | Tensor, index_dtype_override: str | None = None
) -> PrimFunc:
    """A function over the given tensors (and scalar variables), in this order.

    Tensors that are computed on the way and not listed become buffers of the function itself.
    `index_dtype_override` turns indices, loop variables and extents into another integer type.
    A tensor that is computed may be listed once: a second parameter of it would not be written.
    """
    args = [ops] if isinstance(ops, (Tensor, Var)) else list(ops)
    _check_results(args)
    builder = _Builder(args)
    order = _in_order([arg.op for arg in args if isinstance(arg, Tensor)])
    for op in order:
        _check_supported(op)
    builder.bind_extern_buffers(order)
    for op in order:
        builder.add_stage(op)
    func = builder.finish()
    if index_dtype_override is not None:
        func = with_index_dtype(func, DataType(index_dtype_override))
    return func


def _check_results(args: Sequence[Tensor | Var]) -> None:
    seen: set[Tensor] = set()
    for arg in args:
        if isinstance(arg, Tensor) and arg in seen and not isinstance(arg.op, PlaceholderOp):
            raise ValueError(
                message(
                    "create_prim_func",
                    found=f"the result {arg.name!r} is listed twice",
                    legal="each result once; compute a copy for a second one",
                )
            )
        if isinstance(arg, Tensor):
            seen.add(arg)


def _plain_name(name: str) -> str:
    """The outputs of a stage are called S.v0, S.v1; in programs dots stand between packages."""
    return name.replace(".", "_")


def _in_order(roots: Sequence[Operation]) -> list[Operation]:
    """Operations, each after those it reads from; a loop, since chains of stages may be long."""
    order: dict[int, Operation] = {}
    stack: list[tuple[Operation, bool]] = [(op, False) for op in reversed(roots)]
    while stack:
        op, entered = stack.pop()
        if id(op) in order:
            continue
        if entered:
            order[id(op)] = op
            continue
        stack.append((op, True))
        stack.extend([(t.op, False) for t in reversed(op.input_tensors) if id(t.op) not in order])
    return list(order.values())


def _check_supported(op: Operation) -> None:
    if not isinstance(op, (PlaceholderOp, ComputeOp, ExternOp)):
        raise TypeError(
            message(
                f"create_prim_func: operation {op.name}: Unsupported Operation: {op.TYPE_KEY}. "
                "Only te.placeholder and te.compute are allowed for now.",
                found=f"a {type(op).__name__}",
                legal="te.placeholder, te.compute, te.extern",
            )
        )


class _LoadBuffers(StmtExprMutator):
    """Loads of tensors become loads of their buffers, axes become block variables."""

    def __init__(self, buffers: dict[Tensor, Buffer]) -> None:
        super().__init__()
        self.tensors = buffers
        self.vars: dict[Var, PrimExpr] = {}

    def visit_var_(self, op: Var) -> PrimExpr:
        return self.vars.get(op, op)

    def visit_producer_load_(self, op: ProducerLoad) -> PrimExpr:
        assert isinstance(op.producer, Tensor), "te expressions load from te tensors"
        return BufferLoad(self.tensors[op.producer], self.visit_exprs(op.indices), None, op.span)


class _Scope:
    """One level of a stage's loop nest: its loops, and the variables of its block."""

    def __init__(self) -> None:
        self.loops: list[tuple[Var, Range]] = []
        self.iter_vars: list[IterVar] = []
        self.bindings: list[PrimExpr] = []
        self.vars: dict[Var, PrimExpr] = {}


class _Builder:
    """Buffers and statements made so far, on the way to a function."""

    def __init__(self, args: Sequence[Tensor | Var]) -> None:
        for arg in args:
            if not isinstance(arg, (Tensor, Var)):
                raise TypeError(
                    message(
                        "create_prim_func: the arguments of the function",
                        found=f"a {type(arg).__name__}",
                        legal="te.Tensor, tir.Var",
                    )
                )
        self.args = args
        self.buffers: dict[Tensor, Buffer] = {}
        self.allocated: list[Buffer] = []
        self.stmts: list[Stmt] = []
        self.names = NameTable()
        self.analyzer = Analyzer()
        self.analyzer.rewriter.keeps_nan = True  # it simplifies what is computed
        self.loads = _LoadBuffers(self.buffers)

    def add_stage(self, op: Operation) -> None:
        """Append the statements of one operation."""
        if isinstance(op, PlaceholderOp):
            self._add_input(op)
        elif isinstance(op, ComputeOp):
            self.stmts.append(self._compute(op))
        elif isinstance(op, ExternOp):
            self.stmts.append(self._extern(op))

    def _add_input(self, op: PlaceholderOp) -> None:
        tensor = op.output(0)
        if tensor not in self.args:
            raise CheckError(
                message(
                    f"create_prim_func: tensor {tensor.name} is read",
                    found="it does not appear as a function argument",
                    where=f"arguments: {', '.join(str(getattr(a, 'name', a)) for a in self.args)}",
                    legal="list every placeholder that is used",
                )
            )
        if tensor not in self.buffers:
            self.buffers[tensor] = decl_buffer(op.shape, op.dtype, op.name, scope="global")

    def _buffer_of_output(self, tensor: Tensor) -> Buffer:
        buffer = self.buffers.get(tensor)
        if buffer is None:
            name = _plain_name(tensor.name)
            buffer = decl_buffer(tensor.shape, tensor.dtype, name, scope="global")
            self.buffers[tensor] = buffer
        if tensor not in self.args:
            self.allocated.append(buffer)
        return buffer

    # --- computed stages ---

    def _compute(self, op: ComputeOp) -> Stmt:
        for i in range(op.num_outputs):
            self._buffer_of_output(op.output(i))
        axes = op.axis if _reduces_nothing(op) else (*op.axis, *op.reduce_axis)
        levels = self._levels(axes)
        scopes: list[_Scope] = []
        for depth in range(max(levels, default=0) + 1):
            scopes.append(self._scope(axes, levels, depth, scopes[-1] if scopes else None))
        reduces = [n for n, axis in zip(levels, axes) if axis.iter_type == IterVar.CommReduce]
        starts = min(reduces, default=len(scopes) - 1)
        body = self._leaf(op, axes, levels, scopes, starts == len(scopes) - 1)
        for depth in range(len(scopes) - 2, -1, -1):
            scope = scopes[depth]
            init = self._start(op, scope) if depth == starts else None
            name = self._name(f"{op.name}_l{depth + 1}")
            notes = {key: self._annotation(value) for key, value in op.attrs.items()}
            block = Block(scope.iter_vars, [], [], name, body, init, annotations=notes)
            body = _nest(scope.loops, BlockRealize(scope.bindings, IntImm(BOOL, 1), block))
        return body

    def _levels(self, axes: Sequence[IterVar]) -> list[int]:
        """How deep each axis stands: below every axis that its domain depends on.

        Reduction axes stand together, as the outermost block with such an axis starts the result;
        only those that depend on another one stand below it.
        """
        level_of: dict[Var, int] = {}
        reduced = {axis.var for axis in axes if axis.iter_type == IterVar.CommReduce}
        nested: set[Var] = set()
        uses: dict[Var, list[Var]] = {}
        for axis in axes:
            assert axis.dom is not None, "axes of a stage have domains"
            bounds = [self.analyzer.simplify(x) for x in (axis.dom.min, axis.dom.extent)]
            used = [n for x in bounds for n in vars_in(x) if n in level_of]
            uses[axis.var] = used
            level_of[axis.var] = max([level_of[v] + 1 for v in used], default=0)
            if axis.var in reduced and not reduced.isdisjoint(used):
                nested.add(axis.var)
        together = max((level_of[var] for var in reduced - nested), default=0)
        for var in level_of:  # in the order in which they depend on each other
            if var in nested:
                level_of[var] = max(level_of[v] + 1 for v in uses[var])
            elif var in reduced:
                level_of[var] = together
        return [level_of[axis.var] for axis in axes]

    def _scope(
        self, axes: Sequence[IterVar], levels: list[int], depth: int, outer: _Scope | None
    ) -> _Scope:
        """The loops of one level, and a block with all axes known there."""
        scope = _Scope()
        known = {} if outer is None else outer.vars
        for axis, level in zip(axes, levels):
            if level > depth:
                continue
            if level < depth:
                # already bound above: the block sees just this one value of it
                value = known[axis.var]
                dom = Range.from_min_extent(value, IntImm(value.dtype, 1))
            else:
                dom = self._domain(axis, known)
                dtype = max(dom.min.dtype, dom.extent.dtype, key=lambda t: t.bits)
                value = Var(axis.var.name, dtype)
                first = cast(dom.min, dtype)  # 0 may have come as a plain number
                scope.loops.append((value, Range.from_min_extent(first, dom.extent)))
            var = Var(f"v_{axis.var.name}", axis.var.dtype)
            scope.vars[axis.var] = var
            scope.iter_vars.append(IterVar(dom, var, axis.iter_type, axis.thread_tag, axis.span))
            scope.bindings.append(value)
        return scope

    def _domain(self, axis: IterVar, known: dict[Var, PrimExpr]) -> Range:
        assert axis.dom is not None, "axes of a stage have domains"
        self.loads.vars = known
        low, extent = self.loads.visit_expr(axis.dom.min), self.loads.visit_expr(axis.dom.extent)
        return Range.from_min_extent(self.analyzer.simplify(low), self.analyzer.simplify(extent))

    def _leaf(
        self,
        op: ComputeOp,
        axes: Sequence[IterVar],
        levels: list[int],
        scopes: list[_Scope],
        starts: bool,
    ) -> Stmt:
        scope = scopes[-1]
        outer = scopes[-2] if len(scopes) > 1 else None
        if isinstance(op.body[0], Reduce) and not _reduces_nothing(op):
            blocks = [self._reduction(op, scope, starts)]
        else:
            blocks = []
            for i in range(op.num_outputs):
                # every block has variables of its own; the loops are shared
                own = scope if i == 0 else self._same_loops(axes, levels, scopes, outer)
                blocks.append(self._elementwise(op, i, own))
        return _nest(scope.loops, SeqStmt.flatten(*blocks))

    def _same_loops(
        self,
        axes: Sequence[IterVar],
        levels: list[int],
        scopes: list[_Scope],
        outer: _Scope | None,
    ) -> _Scope:
        scope = self._scope(axes, levels, len(scopes) - 1, outer)
        scope.loops, scope.bindings = scopes[-1].loops, scopes[-1].bindings
        return scope

    def _elementwise(self, op: ComputeOp, index: int, scope: _Scope) -> Stmt:
        tensor, body = op.output(index), op.body[index]
        if isinstance(body, Reduce):  # of nothing: what a reduction begins with
            body = (body.init or body.combiner.identity_element)[body.value_index]
        value = self.analyzer.simplify(self._remap(body, scope))
        store = BufferStore(self.buffers[tensor], value, self._indices(op, scope))
        return self._block(op, scope, tensor.name, store, None)

    def _start(self, op: ComputeOp, scope: _Scope) -> Stmt:
        """What the result of a reduction is before the first step."""
        indices = self._indices(op, scope)
        stores: list[Stmt] = []
        for i, part in enumerate(op.body):
            assert isinstance(part, Reduce), "the caller asks for reductions only"
            start = (part.init or part.combiner.identity_element)[part.value_index]
            stores.append(
                BufferStore(self.buffers[op.output(i)], self._remap(start, scope), indices)
            )
        return SeqStmt.flatten(*stores)

    def _reduction(self, op: ComputeOp, scope: _Scope, starts: bool) -> Stmt:
        reduce = op.body[0]
        assert isinstance(reduce, Reduce), "the caller asks for reductions only"
        indices = self._indices(op, scope)
        buffers = [self.buffers[op.output(i)] for i in range(op.num_outputs)]
        order = [e.value_index for e in op.body if isinstance(e, Reduce)]
        current: dict[Var, PrimExpr] = {}
        for buffer, i in zip(buffers, order):
            source = self.analyzer.simplify(self._remap(reduce.source[i], scope))
            current[reduce.combiner.lhs[i]] = BufferLoad(buffer, indices)
            current[reduce.combiner.rhs[i]] = source
        init = self._start(op, scope) if starts else None
        values = [substitute(reduce.combiner.result[i], current) for i in order]
        body = _store_together(buffers, values, indices)
        condition = self._remap(reduce.condition, scope)
        if not is_one(condition):
            body = IfThenElse(condition, body)
        return self._block(op, scope, op.name, body, init)

    def _indices(self, op: ComputeOp, scope: _Scope) -> list[PrimExpr]:
        return [scope.vars[axis.var] for axis in op.axis]

    def _remap(self, expr: PrimExpr, scope: _Scope) -> PrimExpr:
        self.loads.vars = scope.vars
        return self.loads.visit_expr(expr)

    def _block(
        self, op: ComputeOp, scope: _Scope, name: str, body: Stmt, init: Stmt | None
    ) -> BlockRealize:
        iter_vars, bindings = scope.iter_vars, scope.bindings
        if not iter_vars:
            # a stage without axes still gets one, so that its block is a block like all others
            iter_vars = [IterVar((0, 1), Var("vi", "int32"))]
            bindings = [as_expr(0)]
        notes = {key: self._annotation(value) for key, value in op.attrs.items()}
        block = Block(iter_vars, [], [], self._name(name), body, init, annotations=notes)
        return BlockRealize(bindings, IntImm(BOOL, 1), block)

    def _name(self, name: str) -> str:
        """A name for one more block."""
        return self.names.fresh(_plain_name(name))

    def _annotation(self, value: Any) -> Any:
        """Attributes that name tensors name their buffers in the program."""
        if isinstance(value, Tensor):
            return self.buffers[value]
        if isinstance(value, (list, tuple)):
            return tuple(self._annotation(part) for part in value)
        return value

    # --- extern stages ---

    def _extern(self, op: ExternOp) -> Stmt:
        replaced: dict[Buffer, Buffer] = {}
        for tensor, placeholder in zip(op.inputs, op.input_placeholders):
            buffer = self.buffers[tensor]
            if buffer is not placeholder:
                replaced[placeholder] = buffer
        outputs: list[Buffer] = []
        for i, placeholder in enumerate(op.output_placeholders):
            buffer, tensor = placeholder, op.output(i)
            if tensor not in self.args:
                buffer = _at_the_start(placeholder)
                self.allocated.append(buffer)
            if buffer is not placeholder:
                replaced[placeholder] = buffer
            self.buffers[tensor] = buffer
            outputs.append(buffer)
        parts: dict[Var, PrimExpr] = {}
        for old, new in replaced.items():
            parts[old.data] = new.data
            if isinstance(old.elem_offset, Var):
                parts[old.elem_offset] = new.elem_offset
        rule = Substituter(parts)
        rule.buffers.update(replaced)
        body = self.loads.visit_stmt(rule.visit_stmt(op.body) if replaced else op.body)
        inputs = dict.fromkeys(self.buffers[tensor] for tensor in op.inputs)
        reads, writes = extern_regions(body, list(inputs), outputs)
        name = self._name(op.name)
        block = Block([], reads, writes, name, body, annotations=op.attrs)
        return BlockRealize([], IntImm(BOOL, 1), block)

    def bind_extern_buffers(self, order: Sequence[Operation]) -> None:
        """Arguments of extern stages live in the buffers that these stages declare for them."""
        for op in order:
            if isinstance(op, ExternOp):
                for tensor, placeholder in zip(op.inputs, op.input_placeholders):
                    if tensor in self.args:
                        self.buffers[tensor] = placeholder

    # --- the whole function ---

    def finish(self) -> PrimFunc:
        """The function, with reads and writes of its blocks filled in."""
        params: list[Var] = []
        buffer_map: dict[Var, Buffer] = {}
        for arg in self.args:
            if isinstance(arg, Var):
                params.append(arg)
                continue
            handle = Var(f"var_{arg.name.replace('.', '_')}", "handle")
            params.append(handle)
            buffer_map[handle] = self.buffers[arg]
        body = _with_root(SeqStmt.flatten(*self.stmts), self.allocated)
        buffers = [*buffer_map.values(), *self.allocated]
        body = with_access_regions(body, buffers)
        attrs: dict[str, object] = {"global_symbol": "main", "tir.noalias": True}
        free, body = _take_layout_free(body, [buffer_map.get(p) for p in params])
        if free:
            attrs["layout_free_buffers"] = tuple(free)
        return PrimFunc(params, body, None, buffer_map, attrs)


def _at_the_start(buffer: Buffer) -> Buffer:
    """A buffer that some caller could have allocated anywhere, as one of the function's own."""
    if not isinstance(buffer.elem_offset, Var):
        return buffer
    return buffer.with_changes(elem_offset=IntImm(buffer.elem_offset.dtype, 0))


def _nest(loops: Sequence[tuple[Var, Range]], body: Stmt) -> Stmt:
    for var, dom in reversed(loops):
        body = For(var, dom.min, dom.extent, ForKind.SERIAL, body)
    return body


def _reduces_nothing(op: ComputeOp) -> bool:
    """Whether a reduction is known to run over no element: its loops would write nothing."""
    return any(axis.dom is not None and is_zero(axis.dom.extent) for axis in op.reduce_axis)


def _store_together(
    buffers: Sequence[Buffer], values: Sequence[PrimExpr], indices: Sequence[PrimExpr]
) -> Stmt:
    """Stores of one step; several are all computed before the first is stored."""
    if len(buffers) == 1:
        return BufferStore(buffers[0], values[0], indices)
    temps = [Var(f"v_{b.name}", v.dtype) for b, v in zip(buffers, values)]
    body = SeqStmt.flatten(*[BufferStore(b, t, indices) for b, t in zip(buffers, temps)])
    for temp, value in zip(reversed(temps), reversed(values)):
        body = LetStmt(temp, value, body)
    return body


def _with_root(body: Stmt, allocated: Sequence[Buffer]) -> Stmt:
    """The body in a root block, which names no regions; a lone block without axes is one."""
    if isinstance(body, BlockRealize) and not body.block.iter_vars and not allocated:
        block = body.block
        root = Block(
            [], [], [], block.name_hint, block.body, None, (), (), block.annotations, block.span
        )
        return BlockRealize([], body.predicate, root, body.span)
    block = Block([], [], [], "root", body, alloc_buffers=allocated)
    return BlockRealize([], IntImm(BOOL, 1), block)


class _LayoutFree(StmtExprMutator):
    """Takes parameters out of the annotation that names buffers whose layout may be chosen."""

    def __init__(self, params: Sequence[Buffer | None]) -> None:
        super().__init__()
        self.params = params
        self.found: list[Buffer] = []

    def visit_block_(self, op: Block) -> Stmt:
        block = super().visit_block_(op)
        assert isinstance(block, Block), "nothing here replaces a block"
        named = block.annotations.get(LAYOUT_FREE)
        if named is None:
            return block
        assert isinstance(named, tuple), "the annotation is a list of tensors"
        own = [buffer for buffer in named if buffer not in self.params]
        self.found.extend([buffer for buffer in named if buffer in self.params])
        rest = {key: value for key, value in block.annotations.items() if key != LAYOUT_FREE}
        if own:
            rest[LAYOUT_FREE] = tuple(own)
        return Block(
            block.iter_vars, block.reads, block.writes, block.name_hint, block.body, block.init,
            block.alloc_buffers, block.match_buffers, rest, block.span,
        )  # fmt: skip


def _take_layout_free(body: Stmt, params: Sequence[Buffer | None]) -> tuple[list[int], Stmt]:
    """The numbers of layout-free buffers among the parameters, which the body no longer marks."""
    rule = _LayoutFree(params)
    body = rule.visit_stmt(body)
    return sorted({i for i, buffer in enumerate(params) if buffer in rule.found}), body
