"""Compute products of one operand in one go.

    nn.conv2d(%x, %w1), nn.conv2d(%x, %w2)
    ->
    %y = nn.conv2d(%x, concatenate((%w1, %w2)))
    strided_slice(%y, ...), strided_slice(%y, ...)

Elementwise calls that follow in every branch are computed together too. A combiner says for its
operator which calls go together, how they are combined, and how the branches are taken apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext, Sequential
from tvm.relay import op as R
from tvm.relay.expr import Call, TupleGetItem
from tvm.relay.op import nn
from tvm.relay.op.declare import BROADCAST, ELEMWISE
from tvm.relay.traverse import children, post_order, transform

from .function_pass import expr_pass
from .infer_type import infer_types_of
from .scale_axes import axis_of, tensor_of

Branch = list[Call]


class Combiner:
    """How the calls of one operator with a common first operand become one call."""

    def __init__(self, op_name: str) -> None:
        self.op_name = op_name

    def takes(self, call: Call) -> bool:
        """Whether a call may be combined at all."""
        return True

    def together(self, a: Call, b: Call) -> bool:
        """Whether two calls may be combined."""
        raise NotImplementedError

    def combined(self, calls: Sequence[Call], root: Any) -> Call:
        """The one call for all."""
        raise NotImplementedError

    def fits(self, a: Call, b: Call, index: int) -> bool:
        """Whether the operands at `index` of two calls that follow can be joined."""
        raise NotImplementedError

    def joined(self, calls: Sequence[Call], index: int, parent: int) -> Any:
        """The operands at `index` of calls that follow, as one."""
        raise NotImplementedError

    def goes_on(self, call: Call) -> bool:
        """Whether a call that follows means the same on what is combined.

        Options that speak of axes or extents do not; a bias along the last axis does.
        """
        if _is_op(call, "nn.bias_add"):
            return _along_last(call)
        names = [] if call.attrs is None else list(call.attrs.keys())
        elementwise = call.op.get_attr("TOpPattern") == ELEMWISE  # type: ignore[attr-defined]
        return not names or (elementwise and "axis" not in names)

    def following(self, call: Call, args: Sequence[Any]) -> Call:
        """A call that follows, on what is combined."""
        return Call(call.op, args, call.attrs)

    def parts(self, whole: Any, branches: Sequence[Branch]) -> list[Any]:
        """The result of each branch."""
        raise NotImplementedError


def _along_last(call: Call) -> bool:
    axis, rank = int(call.attrs.axis), len(tensor_of(call).shape)  # type: ignore[union-attr]
    return axis % rank == rank - 1


def _slices(whole: Any, axis: int, rank: int, sizes: Sequence[int]) -> list[Any]:
    """Neighbouring slices along an axis."""
    made, begin = [], 0
    for size in sizes:
        starts, ends = [0] * (axis + 1), [-1] * (axis + 1)
        starts[axis], ends[axis] = begin, size
        strides = [1] * (axis + 1)
        made.append(R.strided_slice(whole, starts, ends, strides, slice_mode="size"))
        begin += size
    return made


def _width(call: RelaxExpr, axis: int) -> int:
    return int(tensor_of(call).concrete_shape[axis])


class _Conv2D(Combiner):
    """Convolutions over the same images: the weights are joined along the output channels."""

    def takes(self, call: Call) -> bool:
        return int(call.attrs.groups) == 1  # type: ignore[union-attr]

    def together(self, a: Call, b: Call) -> bool:
        x: Any = a.attrs
        y: Any = b.attrs
        names = ("strides", "padding", "dilation", "data_layout", "kernel_layout", "out_dtype",
                 "out_layout")  # fmt: skip
        if any(getattr(x, name) != getattr(y, name) for name in names):
            return False
        left, right = tensor_of(a.args[1]).shape, tensor_of(b.args[1]).shape
        sizes = [axis_of(x.kernel_layout, letter) for letter in "IHW"]
        return len(left) == len(right) and all(
            structural_equal(left[at], right[at]) for at in sizes
        )

    def combined(self, calls: Sequence[Call], root: Any) -> Call:
        first: Any = calls[0].attrs
        axis = axis_of(first.kernel_layout, "O")
        weight = R.concatenate([call.args[1] for call in calls], axis)
        channels = sum(_width(call.args[1], axis) for call in calls)
        self.channel = axis_of(first.out_layout or first.data_layout, "C")
        return Call(calls[0].op, [root, weight], first.replaced(channels=channels))

    def _axis(self, call: Call, index: int) -> int:
        rank = len(tensor_of(call).shape)
        return self.channel - rank + len(tensor_of(call.args[index]).shape)

    def fits(self, a: Call, b: Call, index: int) -> bool:
        x, y = tensor_of(a.args[index]), tensor_of(b.args[index])
        axis = self._axis(a, index)
        if x.dtype != y.dtype or len(x.shape) != len(y.shape) or axis < 0:
            return False
        whole = all(
            structural_equal(t.shape[axis], tensor_of(call).shape[self.channel])
            for t, call in ((x, a), (y, b))
        )
        return whole and all(
            at == axis or structural_equal(s, t)
            for at, (s, t) in enumerate(zip(x.shape, y.shape))
        )

    def joined(self, calls: Sequence[Call], index: int, parent: int) -> Any:
        axis = self._axis(calls[0], index)
        return R.concatenate([call.args[index] for call in calls], axis)

    def parts(self, whole: Any, branches: Sequence[Branch]) -> list[Any]:
        sizes = [_width(branch[0], self.channel) for branch in branches]
        return _slices(whole, self.channel, 0, sizes)


class _Dense(Combiner):
    """Products with matrices of any numbers of units: the weights are joined."""

    def together(self, a: Call, b: Call) -> bool:
        x: Any = a.attrs
        y: Any = b.attrs
        left, right = tensor_of(a.args[1]).shape, tensor_of(b.args[1]).shape
        return x.out_dtype == y.out_dtype and structural_equal(left[1], right[1])

    def combined(self, calls: Sequence[Call], root: Any) -> Call:
        units = sum(_width(call.args[1], 0) for call in calls)
        weight = R.concatenate([call.args[1] for call in calls], 0)
        options: Any = calls[0].attrs
        made: Call = nn.dense(root, weight, units, options.out_dtype)
        return made

    def fits(self, a: Call, b: Call, index: int) -> bool:
        x, y = tensor_of(a.args[index]), tensor_of(b.args[index])
        if x.dtype != y.dtype or len(x.shape) != len(y.shape):
            return False
        return all(structural_equal(s, t) for s, t in zip(x.shape[:-1], y.shape[:-1]))

    def joined(self, calls: Sequence[Call], index: int, parent: int) -> Any:
        made = []
        for call in calls:
            arg: Any = call.args[index]
            shape = tensor_of(arg).concrete_shape
            units = _width(call.args[parent], -1)
            if not shape:
                arg, shape = R.expand_dims(arg, 0), (1,)
            if shape[-1] != units:  # it is stretched to all units, which are some of all now
                arg = R.repeat(arg, units, len(shape) - 1)
            made.append(arg)
        return R.concatenate(made, max(len(tensor_of(calls[0].args[index]).shape), 1) - 1)

    def parts(self, whole: Any, branches: Sequence[Branch]) -> list[Any]:
        rank = len(tensor_of(branches[0][0]).shape)
        return _slices(whole, rank - 1, rank, [_width(b[0], -1) for b in branches])


class _Batch(Combiner):
    """Products with matrices of one shape, as a batch of them."""

    def __init__(self, op_name: str, batch_op_name: str) -> None:
        super().__init__(op_name)
        self.batch_op_name = batch_op_name

    def together(self, a: Call, b: Call) -> bool:
        same = all(
            structural_equal(tensor_of(x), tensor_of(y)) for x, y in zip(a.args, b.args)
        )
        return len(a.args) == len(b.args) and same and structural_equal(a.attrs, b.attrs)

    def combined(self, calls: Sequence[Call], root: Any) -> Call:
        args = [
            R.stack([root if at == 0 else call.args[at] for call in calls], 0)
            for at in range(len(calls[0].args))
        ]
        if self.batch_op_name == "nn.batch_matmul":
            dtype: Any = calls[0].attrs.out_dtype  # type: ignore[union-attr]
            made: Call = nn.batch_matmul(args[0], args[1], dtype)
            return made
        return Call(Op.get(self.batch_op_name), args, calls[0].attrs)

    def fits(self, a: Call, b: Call, index: int) -> bool:
        return structural_equal(tensor_of(a.args[index]), tensor_of(b.args[index]))

    def joined(self, calls: Sequence[Call], index: int, parent: int) -> Any:
        args = [call.args[index] for call in calls]
        if len(tensor_of(args[0]).shape) == 1:  # a vector for all rows of each
            args = [R.expand_dims(arg, 0) for arg in args]
        return R.stack(args, 0)

    def following(self, call: Call, args: Sequence[Any]) -> Call:
        if not _is_op(call, "nn.bias_add"):
            return super().following(call, args)
        made: Call = R.add(*args)  # a bias for each of the batch is no vector any more
        return made

    def parts(self, whole: Any, branches: Sequence[Branch]) -> list[Any]:
        made = R.split(whole, len(branches), 0).astuple()
        return [R.squeeze(TupleGetItem(made, at), [0]) for at in range(len(branches))]


class _BatchMatmul(Combiner):
    """Batches of products with one left operand: the right ones are joined along their rows."""

    def takes(self, call: Call) -> bool:
        o: Any = call.attrs
        return not o.transpose_a and bool(o.transpose_b)

    def together(self, a: Call, b: Call) -> bool:
        x: Any = a.attrs
        y: Any = b.attrs
        left, right = tensor_of(a.args[1]), tensor_of(b.args[1])
        same = left.dtype == right.dtype and x.out_dtype == y.out_dtype
        return same and all(structural_equal(left.shape[at], right.shape[at]) for at in (0, 2))

    def combined(self, calls: Sequence[Call], root: Any) -> Call:
        weight = R.concatenate([call.args[1] for call in calls], 1)
        return Call(calls[0].op, [root, weight], calls[0].attrs)

    def fits(self, a: Call, b: Call, index: int) -> bool:
        x, y = tensor_of(a.args[index]), tensor_of(b.args[index])
        if x.dtype != y.dtype or len(x.shape) != len(y.shape) or not x.shape:
            return False
        whole = all(
            structural_equal(t.shape[-1], tensor_of(call).shape[-1]) for t, call in ((x, a), (y, b))
        )
        return whole and all(structural_equal(s, t) for s, t in zip(x.shape[:-1], y.shape[:-1]))

    def joined(self, calls: Sequence[Call], index: int, parent: int) -> Any:
        return R.concatenate([call.args[index] for call in calls], -1)

    def parts(self, whole: Any, branches: Sequence[Branch]) -> list[Any]:
        return _slices(whole, 2, 3, [_width(branch[0], 2) for branch in branches])


class _Users:
    """The calls that use each expression, and how often anything does."""

    def __init__(self, root: RelaxExpr) -> None:
        self.order = list(post_order(root))
        self.calls: dict[int, list[Call]] = {}
        self.count: dict[int, int] = {}
        for expr in self.order:
            for part in children(expr):
                self.count[id(part)] = self.count.get(id(part), 0) + 1
                if isinstance(expr, Call):
                    self.calls.setdefault(id(part), []).append(expr)


def _branches(users: _Users, combiner: Combiner, least: int) -> list[list[Branch]]:
    """Groups of branches that start with calls which go together."""
    roots: dict[int, list[list[Branch]]] = {}
    for expr in users.order:
        if not (_is_op(expr, combiner.op_name) and combiner.takes(expr)):  # type: ignore[arg-type]
            continue
        assert isinstance(expr, Call), "seen above"
        groups = roots.setdefault(id(expr.args[0]), [])
        branch = _branch(users, expr)
        for group in groups:
            if combiner.together(group[0][0], expr):
                group.append(branch)
                break
        else:
            groups.append([branch])
    found = [g for groups in roots.values() for g in groups if len(g) >= least]
    return [g for g in found if _independent(g, [arg for b in g for arg in b[0].args])]


def _is_op(expr: RelaxExpr, name: str) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == name


def _branch(users: _Users, start: Call) -> Branch:
    """A call with the elementwise ones that follow it, while nothing else uses them."""
    found = [start]
    while users.count.get(id(found[-1])) == 1:
        following = users.calls.get(id(found[-1]))
        if not following or not isinstance(following[0].op, Op):
            break
        pattern = following[0].op.get_attr("TOpPattern")
        if pattern is None or int(pattern) > BROADCAST:
            break
        found.append(following[0])
    return found


def _same_step(combiner: Combiner, branches: Sequence[Branch], depth: int) -> int | None:
    """The index of the running value among the operands, if the calls at `depth` go together."""
    first = branches[0][depth]
    if not combiner.goes_on(first):
        return None
    parent = next(at for at, arg in enumerate(first.args) if arg is branches[0][depth - 1])
    for branch in branches[1:]:
        call = branch[depth]
        if call.op is not first.op or len(call.args) != len(first.args):
            return None
        if not structural_equal(call.attrs, first.attrs) or (
            call.args[parent] is not branch[depth - 1]
        ):
            return None
        others = [at for at in range(len(call.args)) if at != parent]
        if not all(combiner.fits(first, call, at) for at in others):
            return None
        if not _independent(branches, [c.args[at] for at in others for c in (first, call)]):
            return None
    return parent


def _combine(combiner: Combiner, branches: Sequence[Branch]) -> dict[int, RelaxExpr]:
    """What the last call of each branch becomes."""
    starts = [branch[0] for branch in branches]
    whole: Any = combiner.combined(starts, starts[0].args[0])
    depth = 1
    while all(depth < len(branch) for branch in branches):
        parent = _same_step(combiner, branches, depth)
        if parent is None:
            break
        calls = [branch[depth] for branch in branches]
        args = [
            whole if at == parent else combiner.joined(calls, at, parent)
            for at in range(len(calls[0].args))
        ]
        whole = combiner.following(calls[0], args)
        depth += 1
    parts = combiner.parts(whole, branches)
    return {id(branch[depth - 1]): part for branch, part in zip(branches, parts)}


def _independent(branches: Sequence[Branch], operands: Sequence[RelaxExpr]) -> bool:
    """True when no operand is computed from a result of the branches."""
    starts = {id(branch[0]) for branch in branches}
    return not any(id(expr) in starts for expr in post_order(*operands))


def _replaced(func: RelaxExpr, made: Mapping[int, RelaxExpr]) -> RelaxExpr:
    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        return made.get(id(old), new)

    return transform(func, rule)


def CombineParallel(func: RelaxExpr, mod: IRModule, combiner: Combiner, least: int) -> RelaxExpr:
    """`func` with the calls that a combiner takes computed together.

    One group after the other: the operands of one may hold another.
    """
    while groups := _branches(_Users(func), combiner, max(least, 2)):
        func = infer_types_of(_replaced(func, _combine(combiner, groups[0])), mod)
    return func


@expr_pass("CombineParallelConv2d", opt_level=4)
def CombineParallelConv2D(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, min_num_branches: int = 3
) -> RelaxExpr:
    """Convolutions of the same images are one convolution, where there are that many."""
    return CombineParallel(func, mod, _Conv2D("nn.conv2d"), min_num_branches)


@expr_pass("CombineParallelDense", opt_level=4)
def CombineParallelDense(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, min_num_branches: int = 3,
    to_batch: bool = True,
) -> RelaxExpr:  # fmt: skip
    """Products of the same matrix are one product, or a batch of them."""
    combiner = _Batch("nn.dense", "nn.batch_matmul") if to_batch else _Dense("nn.dense")
    return CombineParallel(func, mod, combiner, min_num_branches)


@expr_pass("CombineParallelBatchMatmul", opt_level=4)
def CombineParallelBatchMatmul(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, min_num_branches: int = 3
) -> RelaxExpr:
    """Batches of products with the same left operand are one batch of products."""
    return CombineParallel(func, mod, _BatchMatmul("nn.batch_matmul"), min_num_branches)


def BatchingOps() -> Sequential:
    """Products of one operand computed together: convolutions, matrices, batches of matrices."""
    passes = [CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul()]
    return Sequential(passes)


@expr_pass("CombineParallelOpBatch", opt_level=4)
def CombineParallelOpBatch(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, op_name: str, batch_op_name: str,
    min_num_branches: int = 3,
) -> RelaxExpr:  # fmt: skip
    """Calls of `op_name` with a common operand are one call of `batch_op_name`."""
    return CombineParallel(func, mod, _Batch(op_name, batch_op_name), min_num_branches)
