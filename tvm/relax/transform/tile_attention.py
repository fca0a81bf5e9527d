"""Attention by blocks of queries, whose scores stay near the core between its products.

    s = matmul(q, k)      # (heads, queries, keys)          for each block of queries of a head:
    p = softmax(s + mask)                           ->          the three of them for the block
    y = matmul(p, v)

The scores of all heads are megabytes where the sequences are long; each of three to five kernels
writes them to memory and the next one reads them again. A block of queries with all keys needs no
running maximum, as tiles of keys would (T. Dao et al., "FlashAttention", 2022): some rows of scores
fit the caches of a core up to tens of thousands of keys. What stands between the products may be
any chain of operators that go row by row: scales, masks, a softmax, a choice.

The block becomes a private function, called by a loop (`relax.loops.scan`) over all blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.span import span_scope
from tvm.ir.transform import ModulePass, PassContext, PassInfo
from tvm.relax import op
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
    Var,
    VarBinding,
    const,
    is_call_of,
)
from tvm.relax.loops import scan
from tvm.relax.op.layout_rules import options_of
from tvm.relax.struct_info import TensorStructInfo, const_int
from tvm.relax.transform.batch_rows import goes_by_element
from tvm.relax.transform.locality import ENOUGH, Locality
from tvm.relax.transform.rebuild import (
    map_dataflow_blocks,
    replace_operands,
    rewrite_calls,
    rewrite_functions,
    vars_needed,
    vars_used,
)
from tvm.target.cpu_model import CpuModel

_PASSES = 4  # over the scores: written, read and written by the softmax, read
_KERNELS = 3
_LEAST = 16  # queries of a block
# Of what lies near at once: products of more rows gain more than scores that are all near.
_BLOCK = 4
_OPERATORS = ("relax.nn.attention", "relax.nn.attention_bias")


class TileAttention(ModulePass):
    """Compute attention block by block where its scores would leave the caches."""

    def __init__(self, cpu: CpuModel) -> None:
        self._cache = Locality(cpu)
        super().__init__(self._run, PassInfo(0, "TileAttention"))

    def _run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return rewrite_functions(mod, self._function)

    def _function(self, bb: BlockBuilder, func: Function) -> Function:
        if func.attrs.get("Primitive") is not None:
            return func
        func = rewrite_calls(func, dict.fromkeys(_OPERATORS, self._as_products), bb)
        last = set(vars_used(func.body.body))
        outside = last.union(*(_seen(block) for block in func.body.blocks if _is_plain(block)))
        return map_dataflow_blocks(func, _Tiler(bb, self._cache, func.params, outside).block)

    def _as_products(self, bb: BlockBuilder, call: Call) -> RelaxExpr:
        """An attention operator as the products that it stands for, if blocks of them gain."""
        query, key, value, *bias = call.args
        options = options_of(call)
        batch, queries, heads, depth = _extents(query) or (0, 0, 0, 0)
        keys = (_extents(key) or (0, 0))[1]
        one = _Attention([], query, key, value, (batch, heads), queries, keys, bias)
        plain = all(_dtype(x) == "float32" and _extents(x) for x in call.args)
        hidden = options["causal_mask"] is not None or options["window_size"] is not None
        if hidden or not plain or not block_size(one, self._cache, by_heads=True):
            return call
        if any(_way(one, x, queries) is None for x in bias):
            return call
        scale = 1 / math.sqrt(depth) if options["scale"] is None else float(options["scale"])
        rows = bb.emit(op.multiply(query, const(scale, "float32")))
        rows = bb.emit(op.permute_dims(rows, [0, 2, 1, 3]))
        scores = bb.emit(op.matmul(rows, bb.emit(op.permute_dims(key, [0, 2, 3, 1]))))
        for x in bias:
            scores = bb.emit(op.add(scores, x))
        values = bb.emit(op.permute_dims(value, [0, 2, 1, 3]))
        made = bb.emit(op.matmul(bb.emit(op.nn.softmax(scores, -1)), values))
        return op.permute_dims(made, [0, 2, 1, 3])


def block_size(one: _Attention, cache: Locality, *, by_heads: bool = False) -> int:
    """How many queries make a block; 0 where all of them are as well computed at once.

    What goes through the heads one by one (`by_heads`) gains only where one is several blocks.
    """
    row = one.keys * 4
    counts = [n for n in range(1, one.queries + 1) if one.queries % n == 0]
    near = [n for n in counts if n * row <= _BLOCK * cache.near and n >= _LEAST]
    count = max(near) if near else one.queries
    if count == one.queries and (by_heads or one.heads == 1):
        return 0
    gain = cache.moved(one.heads * one.queries * row, count * row, _PASSES)
    calls = one.heads * (one.queries // count) * _KERNELS * cache.call
    return count if gain - calls >= ENOUGH else 0


def _is_plain(block: BindingBlock) -> bool:
    return not isinstance(block, DataflowBlock)


def _seen(block: BindingBlock) -> set[Var]:
    return {var for binding in block.bindings for var in vars_needed(binding.value)}


@dataclass
class _Attention:
    """Two products and what stands between them: `chain` from the first to the last, in order."""

    chain: list[Binding]
    query: RelaxExpr
    key: RelaxExpr
    value: RelaxExpr
    lead: tuple[int, ...]  # the extents of batches and heads
    queries: int
    keys: int
    others: list[RelaxExpr]  # tensors that the chain reads beside

    @property
    def heads(self) -> int:
        return math.prod(self.lead)


class _Tiler:
    def __init__(
        self, bb: BlockBuilder, cache: Locality, params: Sequence[Var], outside: set[Var]
    ) -> None:
        self._bb = bb
        self._cache = cache
        self._params = params
        self._outside = outside

    def block(self, block: DataflowBlock) -> DataflowBlock:
        bindings = list(block.bindings)
        if not any(is_call_of(binding.value, "relax.nn.softmax") for binding in bindings):
            return block
        found = _attentions(bindings, self._outside)
        sizes = {id(one): block_size(one, self._cache) for one in found}
        found = [one for one in found if sizes[id(one)]]
        if not found:
            return block
        ends = {one.chain[-1].var: one for one in found}
        inside = {binding.var for one in found for binding in one.chain}

        def fill(_: BindingBlock) -> None:
            for binding in bindings:
                one = ends.get(binding.var)
                if one is not None:
                    with span_scope(binding.span):
                        self._emit(one, sizes[id(one)])
                elif binding.var not in inside:
                    self._bb.emit_normalized(binding)

        self._bb.begin_scope(self._params)
        made = self._bb.rebuilt(block, fill)
        self._bb.end_scope()
        assert isinstance(made, DataflowBlock), "blocks stay of their kind"
        return made

    # --- the loop ---

    def _emit(self, one: _Attention, size: int) -> None:
        bb, heads, blocks = self._bb, one.heads, one.queries // size
        ways = [_way(one, other, size) for other in one.others]
        assert None not in ways, "attention whose operands have another form was not taken"
        depth, width = _extents(one.query)[-1], _extents(one.value)[-1]
        query = bb.emit(op.reshape(one.query, (heads * blocks, size, depth)))
        key = bb.emit(op.reshape(one.key, (heads, depth, one.keys)))
        value = bb.emit(op.reshape(one.value, (heads, one.keys, width)))
        scanned, read = [query, key, value], [(1, 0), (blocks, 0), (blocks, 0)]
        for other, way in zip(one.others, ways):
            assert way is not None, "just looked"
            shape, every, count = way
            scanned.append(bb.emit(op.reshape(other, shape)))
            read.append((every, count))
        func = self._function(one, scanned)
        result = TensorStructInfo((1, size, width), one.chain[-1].var.struct_info.dtype)  # type: ignore[attr-defined]

        def turn(
            state: Sequence[RelaxExpr], slices: Sequence[RelaxExpr], outer: Sequence[RelaxExpr]
        ) -> tuple[list[RelaxExpr], list[RelaxExpr]]:
            return [], [bb.emit(Call(func, list(slices)))]

        _, (made,) = scan(bb, [], scanned, [], turn, [result], in_batches=True, read=read)
        whole = op.reshape(bb.normalize_argument(made), (*one.lead, one.queries, width))
        bb.emit_normalized(VarBinding(one.chain[-1].var, bb.normalize(whole)))

    def _function(self, one: _Attention, scanned: Sequence[Var]) -> RelaxExpr:
        """A private function of the chain for a block: three axes, the first of extent 1."""
        bb = self._bb
        params = []
        for name, tensor in zip(("query", "key", "value"), scanned):
            params.append(Var(name, _first(tensor)))
        params += [Var("other", _first(tensor)) for tensor in scanned[3:]]
        new: dict[Var, RelaxExpr] = {}
        for old, param in zip((one.query, one.key, one.value, *one.others), params):
            if isinstance(old, Var):
                new[old] = param
        by_identity = {id(old): param for old, param in zip(one.others, params[3:])}

        def replaced(expr: RelaxExpr) -> RelaxExpr | None:
            if id(expr) in by_identity:
                return by_identity[id(expr)]
            if isinstance(expr, Constant) and expr.struct_info.ndim > 3:  # type: ignore[attr-defined]
                return Constant(expr.data.numpy().reshape(1, 1, 1))
            return new.get(expr) if isinstance(expr, Var) else None

        with bb.aside():
            bb.begin_scope(params)
            bb.begin_dataflow_block()
            for i, binding in enumerate(one.chain):
                value = binding.value
                assert isinstance(value, Call), "as was looked for"
                if i in (0, len(one.chain) - 1):
                    a, b = (params[0], params[1]) if i == 0 else (new[value.args[0]], params[2])  # type: ignore[index]
                    made: RelaxExpr = Call(value.op, [a, b], value.attrs, (), value.span)
                elif is_call_of(value, "relax.nn.softmax"):
                    made = op.nn.softmax(new[value.args[0]], -1)  # type: ignore[index]
                else:
                    made = replace_operands(value, replaced)
                with span_scope(binding.span or value.span):
                    emit = bb.emit_output if i == len(one.chain) - 1 else bb.emit
                    new[binding.var] = emit(bb.normalize(made), binding.var.name_hint)
            block = bb.end_block()
            bb.end_scope()
            body = bb.normalize(SeqExpr([block], new[one.chain[-1].var]))
            func = Function(params, body, body.struct_info, True)
            return bb.add_func(copy_with_new_vars(func), "attention_block")


def _first(tensor: Var) -> TensorStructInfo:
    info = tensor.struct_info
    assert isinstance(info, TensorStructInfo), "tensors are read"
    return TensorStructInfo([1, *(info.values or ())[1:]], info.dtype)


def _extents(expr: RelaxExpr) -> tuple[int, ...]:
    """The extents of a tensor, if all are numbers; otherwise none."""
    info = expr.struct_info_
    if not isinstance(info, TensorStructInfo) or info.values is None:
        return ()
    known = [const_int(extent) for extent in info.values]
    return tuple(n for n in known if n is not None) if None not in known else ()


def _way(one: _Attention, other: RelaxExpr, size: int) -> tuple[tuple[int, ...], int, int] | None:
    """How a block reads another operand: the shape that it gets, `every` and `count`."""
    full = (*one.lead, one.queries, one.keys)
    extents = (1,) * (len(full) - len(_extents(other))) + _extents(other)
    lead, (rows, columns) = extents[:-2], extents[-2:]
    blocks = one.queries // size
    own = next((i for i in range(len(lead), 0, -1) if lead[i - 1] != 1), 0)
    if lead[:own] != one.lead[:own]:
        return None
    each, shared = math.prod(one.lead[:own]), math.prod(one.lead[own:])
    if rows == 1:
        return (each, 1, columns), shared * blocks, 0
    if each == 1:
        return (blocks, size, columns), 1, blocks
    return ((each * blocks, size, columns), 1, 0) if shared == 1 else None


# --- what is attention ---


def _attentions(bindings: Sequence[Binding], outside: set[Var]) -> list[_Attention]:
    """The pairs of products with a softmax between them that nothing else looks into."""
    bound = {binding.var: i for i, binding in enumerate(bindings)}
    users: dict[Var, set[int]] = {}
    for i, binding in enumerate(bindings):
        for var in vars_needed(binding.value):
            users.setdefault(var, set()).add(i)
    found = []
    for i, binding in enumerate(bindings):
        if is_call_of(binding.value, "relax.matmul"):
            one = _attention(bindings, bound, i)
            if one is not None and _is_closed(one, bound, users, outside):
                found.append(one)
    return found


def _is_closed(
    one: _Attention, bound: dict[Var, int], users: dict[Var, set[int]], outside: set[Var]
) -> bool:
    """Whether only the chain uses what it computes, and the last product as its first operand."""
    own = {bound[binding.var] for binding in one.chain}
    return all(
        users[binding.var] <= own and binding.var not in outside for binding in one.chain[:-1]
    )


def _attention(
    bindings: Sequence[Binding], bound: dict[Var, int], last: int
) -> _Attention | None:
    """The chain that ends with a product, back to the product that makes the scores."""
    product = bindings[last].value
    assert isinstance(product, Call), "the caller looked"
    full = _extents(product.args[0])
    if len(full) < 3:
        return None
    members = _behind(bindings, bound, product.args[0], full)
    products = [i for i in members if is_call_of(bindings[i].value, "relax.matmul")]
    if len(products) != 1:
        return None
    inside = set(products)
    for i in sorted(members):  # those that follow from the scores; what does not is read
        if any(bound.get(var) in inside for var in vars_used(bindings[i].value)):
            inside.add(i)
    chain = [bindings[i] for i in (*sorted(inside), last)]
    scores, made = chain[0].value, {binding.var for binding in chain}
    assert isinstance(scores, Call), "a product"
    between = [arg for binding in chain[1:-1] for arg in binding.value.args]  # type: ignore[attr-defined]
    others = {id(x): x for x in between if not _is_scalar(x) and not _is_one_of(x, made)}
    query, key, value = scores.args[0], scores.args[1], product.args[1]
    one = _Attention(
        chain, query, key, value, full[:-2], full[-2], full[-1], list(others.values())
    )
    read = (query, key, value, *one.others)
    fits = all(_extents(x)[:-2] == one.lead and _extents(x) for x in (query, key, value))
    plain = all(_dtype(x) == "float32" for x in (query, key, value, chain[-1].var))
    softmax = any(is_call_of(binding.value, "relax.nn.softmax") for binding in chain)
    apart = not any(_is_one_of(x, made) for x in read)
    if not (fits and plain and softmax and apart) or not all(map(_extents, one.others)):
        return None
    return None if any(_way(one, x, one.queries) is None for x in one.others) else one


def _behind(
    bindings: Sequence[Binding], bound: dict[Var, int], start: RelaxExpr, full: tuple[int, ...]
) -> set[int]:
    """The products, and what goes row by row, that make a value of the extents of scores."""
    found: set[int] = set()
    pending = [start]
    while pending:
        expr = pending.pop()
        at = bound.get(expr) if isinstance(expr, Var) else None
        if at is None or at in found or _extents(expr) != full:
            continue
        value = bindings[at].value
        if is_call_of(value, "relax.matmul"):
            found.add(at)
        elif isinstance(value, Call) and _goes_on(value, len(full)):
            found.add(at)
            pending += value.args
    return found


def _is_one_of(expr: RelaxExpr, made: set[Var]) -> bool:
    return isinstance(expr, Var) and expr in made


def _goes_on(call: Call, ndim: int) -> bool:
    """Whether an operator keeps rows of scores apart: by element, or a softmax along them."""
    if is_call_of(call, "relax.nn.softmax"):
        return int(call.attrs.axis) % ndim == ndim - 1  # type: ignore[union-attr]
    return goes_by_element(call)


def _is_scalar(expr: RelaxExpr) -> bool:
    """Whether an operand is a constant of one element, which stays where it is read."""
    return isinstance(expr, Constant) and math.prod(expr.data.shape) == 1


def _dtype(expr: RelaxExpr) -> str:
    info = expr.struct_info_
    return str(info.dtype) if isinstance(info, TensorStructInfo) else ""
