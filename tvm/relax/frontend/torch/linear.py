"""Products and convolutions."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant

from .registry import convert
from .values import (
    Expr,
    axes_of,
    axis_of,
    cast,
    dtype_of,
    lengths,
    product,
    promoted,
    rank,
    refuse,
    same,
    scalar,
    sizes,
    spread,
    together,
)


def _product(a: Expr, b: Expr) -> Expr:
    """The product, in the data type of its factors."""
    return op.matmul(a, b, dtype_of(a))


@convert("matmul", "mm", "bmm", "imatmul", "linalg_matmul", "mv", "dot")
def matmul(bb: BlockBuilder, input: Expr, mat2: Expr) -> Expr:
    return _product(*promoted(bb, input, mat2))


@convert("_int_mm")
def integer_matmul(bb: BlockBuilder, input: Expr, mat2: Expr) -> Expr:
    return op.matmul(input, mat2, out_dtype="int32")


@convert("vdot", "linalg_vecdot")
def vecdot(bb: BlockBuilder, input: Expr, other: Expr, dim: int = -1) -> Any:
    return op.sum(op.multiply(*promoted(bb, input, other)), axis=dim)


@convert("inner")
def inner(bb: BlockBuilder, input: Expr, other: Expr) -> Any:
    """Sums over the last axis of both."""
    if rank(input) == 0 or rank(other) == 0:
        return op.multiply(input, other)
    return tensordot(bb, input, other, ([-1], [-1]))


@convert("outer", "ger")
def outer(bb: BlockBuilder, input: Expr, vec2: Expr) -> Expr:
    return op.outer(*promoted(bb, input, vec2))


@convert("linear")
def linear(bb: BlockBuilder, input: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """x w^T + b"""
    if rank(weight) == 1:
        made = op.matmul(input, weight)
        return made if bias is None else op.add(made, bias)
    return op.linear(input, weight, bias, dtype_of(input))


@convert("bilinear")
def bilinear(
    bb: BlockBuilder, input1: Expr, input2: Expr, weight: Expr, bias: Expr | None = None
) -> Expr:
    """y_o = x1^T W_o x2 + b_o"""
    lead = "abcdefgh"[: rank(input1) - 1]
    made = op.einsum([input1, weight, input2], f"{lead}i,oij,{lead}j->{lead}o")
    return made if bias is None else op.add(made, bias)


@convert("_trilinear")
def trilinear(
    bb: BlockBuilder, i1: Expr, i2: Expr, i3: Expr, expand1: Any, expand2: Any, expand3: Any,
    sumdim: Any, unroll_dim: int = 1,
) -> Any:  # fmt: skip
    """The product of three tensors with new axes, summed over axes."""
    parts = [
        bb.emit(op.expand_dims(x, sorted(axes))) if axes else x
        for x, axes in ((i1, expand1), (i2, expand2), (i3, expand3))
    ]
    return op.sum(op.multiply(op.multiply(parts[0], parts[1]), parts[2]), list(sumdim))


def _weighted_sum(
    bb: BlockBuilder, input: Expr, product: Expr, beta: Any, alpha: Any, last: bool = True
) -> Any:
    """beta * input + alpha * product; with beta 0 not even a NaN of the input shows.

    `last` says on which side of the sum the product stands.
    """
    found: Expr | None = None
    if alpha != 0:
        found = bb.emit(product)
        if alpha != 1:
            found = bb.emit(op.multiply(found, scalar(alpha, dtype_of(found))))
    if beta != 0:
        scaled = input
        if beta != 1:
            scaled = bb.emit(op.multiply(input, scalar(beta, dtype_of(input))))
        if found is None:
            return scaled
        found = bb.emit(op.add(*((scaled, found) if last else (found, scaled))))
    if found is None:
        made = bb.normalize(product)
        return op.zeros(sizes(made), dtype_of(made))
    return found


@convert("addmm")
def addmm(
    bb: BlockBuilder, input: Expr, mat1: Expr, mat2: Expr, beta: Any = 1, alpha: Any = 1
) -> Any:
    return _weighted_sum(bb, input, _product(mat1, mat2), beta, alpha)


@convert("baddbmm")
def baddbmm(
    bb: BlockBuilder, input: Expr, batch1: Expr, batch2: Expr, beta: Any = 1, alpha: Any = 1
) -> Any:
    return _weighted_sum(bb, input, op.matmul(batch1, batch2), beta, alpha, last=False)


@convert("addmv")
def addmv(
    bb: BlockBuilder, input: Expr, mat: Expr, vec: Expr, beta: Any = 1, alpha: Any = 1
) -> Any:
    return _weighted_sum(bb, input, _product(mat, vec), beta, alpha)


@convert("addbmm")
def addbmm(
    bb: BlockBuilder, input: Expr, batch1: Expr, batch2: Expr, beta: Any = 1, alpha: Any = 1
) -> Expr:
    """Products of a batch, summed."""
    total = bb.emit(op.sum(_product(batch1, batch2), axis=0))
    return _plus(input, bb.emit(op.multiply(total, scalar(alpha, dtype_of(total)))), beta)


@convert("addr")
def addr(
    bb: BlockBuilder, input: Expr, vec1: Expr, vec2: Expr, beta: Any = 1, alpha: Any = 1
) -> Expr:
    made = bb.emit(op.multiply(op.outer(vec1, vec2), scalar(alpha, dtype_of(vec1))))
    return _plus(input, made, beta)


def _plus(input: Expr, made: Expr, beta: Any) -> Expr:
    """beta * input + made; with beta 0 not even a NaN of the input shows."""
    return made if beta == 0 else op.add(op.multiply(input, scalar(beta, dtype_of(input))), made)


@convert("einsum")
def einsum(bb: BlockBuilder, equation: str, *operands: Any, path: Any = None) -> Expr:
    given = operands[0] if isinstance(operands[0], (tuple, list)) else operands
    written = equation.replace(" ", "")
    inputs, arrow, output = written.partition("->")
    if arrow and "..." in inputs and "..." not in output:
        written = f"{_named_axes(inputs, given)}->{output}"
    return op.einsum(tuple(given), written)


def _named_axes(inputs: str, operands: Sequence[Expr]) -> str:
    """Names for the axes behind each ellipsis, over which torch sums if the result has none."""
    free = [letter for letter in string.ascii_letters if letter not in inputs]
    parts = inputs.split(",")
    hidden = [rank(x) - len(part.replace("...", "")) for part, x in zip(parts, operands)]
    names = free[: max(hidden)]
    return ",".join(
        part.replace("...", "".join(names[len(names) - count :]))
        for part, count in zip(parts, hidden)
    )


@convert("tensordot")
def tensordot(bb: BlockBuilder, a: Expr, b: Expr, dims: Any = 2, *rest: Any) -> Expr:
    """Sums over pairs of axes: the last `dims` of a with the first of b, or two lists of axes."""
    if rest:  # aten gives the two lists apart
        dims = (dims, rest[0])
    if isinstance(dims, int):
        dims = (list(range(rank(a) - dims, rank(a))), list(range(dims)))
    left, right = axes_of(dims[0], rank(a)) or [], axes_of(dims[1], rank(b)) or []
    a, b = _summed_beside_one(bb, a, b, left, right), _summed_beside_one(bb, b, a, right, left)
    free_a = [i for i in range(rank(a)) if i not in left]
    free_b = [i for i in range(rank(b)) if i not in right]
    extents_a, extents_b = sizes(a), sizes(b)
    inner_size = product([extents_a[i] for i in left])
    rows = op.reshape(
        op.permute_dims(a, [*free_a, *left]), (product([extents_a[i] for i in free_a]), inner_size)
    )
    columns = op.reshape(
        op.permute_dims(b, [*right, *free_b]), (inner_size, product([extents_b[i] for i in free_b]))
    )
    shape = [*(extents_a[i] for i in free_a), *(extents_b[i] for i in free_b)]
    return op.reshape(_product(bb.emit(rows), bb.emit(columns)), shape)


def _summed_beside_one(
    bb: BlockBuilder, x: Expr, other: Expr, axes: list[int], others: list[int]
) -> Expr:
    """Sums along axes whose partner has one element, which multiplies them all."""
    short = [i for i, j in zip(axes, others)
             if same(sizes(other)[j], 1) and not same(sizes(x)[i], 1)]  # fmt: skip
    return bb.emit(op.sum(x, short, True)) if short else x


@convert("chain_matmul", "linalg_multi_dot")
def multi_dot(bb: BlockBuilder, *matrices: Any) -> Any:
    given = list(matrices[0]) if isinstance(matrices[0], (tuple, list)) else list(matrices)
    found = given[0]
    for other in given[1:]:
        found = bb.emit(_product(found, other))
    return found


@convert("kron")
def kron(bb: BlockBuilder, input: Expr, other: Expr) -> Expr:
    """Every element of the first times the second, as blocks."""
    ndim = max(rank(input), rank(other))
    a = [1] * (ndim - rank(input)) + list(sizes(input))
    b = [1] * (ndim - rank(other)) + list(sizes(other))
    wide = op.reshape(input, [n for size in a for n in (size, 1)])
    deep = op.reshape(other, [n for size in b for n in (1, size)])
    shape = [product([m, n]) for m, n in zip(a, b)]
    return op.reshape(op.multiply(wide, deep), shape)


# --- convolutions ---

_LAYOUTS: Final = {1: ("NCW", "OIW", "IOW"), 2: ("NCHW", "OIHW", "IOHW"), 3: ("NCDHW", "OIDHW", "")}
_CONV: Final = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
_TRANSPOSE: Final = {1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose}


def convolve(
    bb: BlockBuilder,
    input: Expr,
    weight: Expr,
    bias: Expr | None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    count: int | None = None,
) -> Expr:
    """A convolution over the last axes; a picture without a batch gets one for the while."""
    n = rank(weight) - 2 if count is None else count
    batched = rank(input) == n + 2
    x = input if batched else bb.emit(op.expand_dims(input, 0))
    strides, dilations = spread(stride, n), spread(dilation, n)
    if isinstance(padding, str):
        x, padding = _padded(bb, x, weight, padding, strides, dilations)
    layout, kernel, _ = _LAYOUTS[n]
    made = bb.emit(
        _CONV[n](
            x, weight, strides=strides, padding=spread(padding, n), dilation=dilations,
            groups=groups, data_layout=layout, kernel_layout=kernel, out_dtype=dtype_of(x),
        )
    )  # fmt: skip
    return _finished(bb, made, bias, n, batched)


def _padded(
    bb: BlockBuilder, x: Expr, weight: Expr, padding: str, strides: Any, dilations: Any
) -> tuple[Expr, list[int]]:
    """`valid` adds nothing; `same` what keeps the extents, the odd one behind."""
    n = len(strides)
    if padding == "valid":
        return x, [0] * n
    if padding != "same" or any(s != 1 for s in strides):
        raise refuse("a convolution's padding", repr(padding), "numbers, 'valid', or 'same'")
    kernel = lengths(weight, "a convolution's kernel")[2:]
    totals = [d * (k - 1) for k, d in zip(kernel, dilations)]
    if all(total % 2 == 0 for total in totals):
        return x, [total // 2 for total in totals]
    width = [0] * 4
    for total in totals:
        width += [total // 2, total - total // 2]
    return bb.emit(op.nn.pad(x, width)), [0] * n


def _finished(
    bb: BlockBuilder, made: Expr, bias: Expr | None, n: int, batched: bool
) -> Expr:
    if bias is not None:
        channels = sizes(bias)[0]
        made = bb.emit(op.add(made, bb.emit(op.reshape(bias, [1, channels, *[1] * n]))))
    return made if batched else bb.emit(op.squeeze(made, [0]))


def convolve_transposed(
    bb: BlockBuilder,
    input: Expr,
    weight: Expr,
    bias: Expr | None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Expr:
    """The gradient of a convolution: (n, c, extents) to larger extents."""
    n = rank(weight) - 2
    batched = rank(input) == n + 2
    x = input if batched else bb.emit(op.expand_dims(input, 0))
    options = [spread(v, n) for v in (stride, padding, output_padding, dilation)]
    strides, paddings, out_paddings, dilations = options
    if n == 3:
        made = _transposed_3d(bb, x, weight, strides, paddings, out_paddings, groups, dilations)
        return _finished(bb, made, bias, n, batched)
    layout, _, kernel = _LAYOUTS[n]
    behind: list[int] = []
    if any(extra >= step for extra, step in zip(out_paddings, strides)):
        # torch allows as much as the dilation: rows that padding cuts, and zeros behind the last
        behind = [max(0, extra - pad) for extra, pad in zip(out_paddings, paddings)]
        ends = [max(0, pad - extra) for extra, pad in zip(out_paddings, paddings)]
        paddings, out_paddings = [*paddings, *ends], [0] * n
    made = bb.emit(
        _TRANSPOSE[n](
            x, weight, strides=strides, padding=paddings, output_padding=out_paddings,
            dilation=dilations, groups=groups, data_layout=layout, kernel_layout=kernel,
            out_dtype=dtype_of(x),
        )
    )  # fmt: skip
    if any(behind):
        width = [0, 0, 0, 0, *(side for extra in behind for side in (0, extra))]
        made = bb.emit(op.nn.pad(made, width))
    return _finished(bb, made, bias, n, batched)


def _transposed_3d(
    bb: BlockBuilder,
    x: Expr,
    weight: Expr,
    strides: Sequence[int],
    paddings: Sequence[int],
    out_paddings: Sequence[int],
    groups: int,
    dilations: Sequence[int],
) -> Expr:
    """As a convolution of the input spread out with zeros, by the kernel turned round.

    Zeros go between elements: each axis is paired with a new one of `stride` places.
    """
    x = _spread_out(bb, x, strides)
    inputs, outputs, *kernel = lengths(weight, "a transposed convolution's kernel")
    width = [0] * 4
    for k, p, extra, d, s in zip(kernel, paddings, out_paddings, dilations, strides):
        # behind the last element `spread_out` has left stride - 1 zeros
        width += [d * (k - 1) - p, d * (k - 1) - p + extra - (s - 1)]
    x = _padded_or_cut(bb, x, width)
    turned = weight
    for axis in (2, 3, 4):
        turned = op.flip(turned, axis)
    per_group = op.reshape(turned, [groups, inputs // groups, outputs, *kernel])
    swapped = op.permute_dims(per_group, [0, 2, 1, 3, 4, 5])
    kernels = bb.emit(op.reshape(swapped, [groups * outputs, inputs // groups, *kernel]))
    return convolve(bb, x, kernels, None, 1, 0, dilations, groups)


def _spread_out(bb: BlockBuilder, x: Expr, strides: Sequence[int]) -> Expr:
    for axis, stride in enumerate(strides, start=2):
        if stride > 1:
            shape = sizes(x)
            x = bb.emit(op.expand_dims(x, axis + 1))
            width = [0] * (2 * len(shape) + 2)
            width[2 * axis + 3] = stride - 1
            shape[axis] = product([shape[axis], stride])
            x = bb.emit(op.reshape(bb.emit(op.nn.pad(x, width)), shape))
    return x


def _padded_or_cut(bb: BlockBuilder, x: Expr, width: Sequence[int]) -> Expr:
    """Padding by zeros; negative widths cut off."""
    cut = [max(0, -w) for w in width]
    if any(cut):
        axes = range(rank(x))
        begin = [cut[2 * a] for a in axes]
        end = [size - cut[2 * a + 1] for a, size in zip(axes, sizes(x))]
        x = bb.emit(op.strided_slice(x, list(axes), begin, end))
    grown = [max(0, w) for w in width]
    return bb.emit(op.nn.pad(x, grown)) if any(grown) else x


def _declare_convolutions() -> None:
    for count in (1, 2, 3):

        def forward(
            bb: BlockBuilder, input: Expr, weight: Expr, bias: Expr | None = None,
            stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
        ) -> Expr:  # fmt: skip
            return convolve(bb, input, weight, bias, stride, padding, dilation, groups)

        def backward(
            bb: BlockBuilder, input: Expr, weight: Expr, bias: Expr | None = None,
            stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
            dilation: Any = 1,
        ) -> Expr:  # fmt: skip
            return convolve_transposed(
                bb, input, weight, bias, stride, padding, output_padding, groups, dilation
            )

        convert(f"conv{count}d")(forward)
        convert(f"conv_transpose{count}d")(backward)


_declare_convolutions()


@convert("convolution", "_convolution")
def convolution(
    bb: BlockBuilder,
    input: Expr,
    weight: Expr,
    bias: Expr | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *flags: Any,
) -> Expr:
    """What torch's decompositions make of all convolutions."""
    if transposed:
        return convolve_transposed(
            bb, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return convolve(bb, input, weight, bias, stride, padding, dilation, groups)


@convert("cdist", "_cdist_forward")
def cdist(bb: BlockBuilder, x1: Expr, x2: Expr, p: float = 2.0, *mode: Any, **o: Any) -> Any:
    """Distances between all rows of two tensors."""
    from .reduction import norm

    difference = bb.emit(op.subtract(op.expand_dims(x1, -2), op.expand_dims(x2, -3)))
    return norm(bb, difference, p, [-1])


@convert("pdist", "_pdist_forward")
def pdist(bb: BlockBuilder, input: Expr, p: float = 2.0) -> Any:
    """Distances between each two rows, the pairs in order."""
    from .reduction import norm

    first, second = np.triu_indices(lengths(input, "pdist")[0], 1)
    a, b = (op.take(input, Constant(rows.astype("int64")), 0) for rows in (first, second))
    return norm(bb, bb.emit(op.subtract(a, b)), p, [-1])


@convert("pairwise_distance")
def pairwise_distance(
    bb: BlockBuilder, x1: Expr, x2: Expr, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    from .reduction import norm

    difference = op.add(op.subtract(x1, x2), scalar(eps, dtype_of(x1)))
    return norm(bb, bb.emit(difference), p, [-1], keepdim)


@convert("cosine_similarity")
def cosine_similarity(
    bb: BlockBuilder, x1: Expr, x2: Expr, dim: int = 1, eps: float = 1e-8
) -> Any:
    """The product of both, each over its length (or eps, if that is more).

    `dim` counts the axes of the operands broadcast to each other, so the lengths are theirs.
    """
    dtype = dtype_of(x1)
    x1, x2 = together(bb, x1, x2)
    if rank(x1) == 0:
        rows = [bb.emit(op.reshape(x, [1])) for x in (x1, x2)]
        return op.reshape(bb.emit(cosine_similarity(bb, *rows, dim, eps)), [])
    small = scalar(eps, dtype)

    def unit(x: Expr) -> Any:
        size = op.sqrt(op.sum(op.multiply(x, x), axis=dim, keepdims=True))
        return bb.emit(op.divide(x, op.maximum(size, small)))

    return op.sum(op.multiply(unit(x1), unit(x2)), axis=dim)


@convert("cross", "linalg_cross")
def cross(bb: BlockBuilder, input: Expr, other: Expr, dim: int | None = None) -> Expr:
    """The vector product along an axis of three: x_{i+1} y_{i+2} - x_{i+2} y_{i+1}."""
    from .shape import roll

    extents = sizes(input)
    axis = -1 if dim is None else dim
    if dim is None and 3 in extents:
        axis = extents.index(3)

    def turned(x: Expr, by: int) -> Expr:
        return bb.emit(roll(bb, x, by, axis))

    first = op.multiply(turned(input, -1), turned(other, -2))
    return op.subtract(first, op.multiply(turned(input, -2), turned(other, -1)))


@convert("trace")
def trace(bb: BlockBuilder, input: Expr) -> Any:
    from .slicing import diagonal

    return op.sum(cast(bb, bb.emit(diagonal(bb, input)), _sum_dtype(input)))


def _sum_dtype(x: Expr) -> str:
    return dtype_of(x) if "float" in dtype_of(x) else "int64"


@convert("renorm")
def renorm(bb: BlockBuilder, input: Expr, p: float, dim: int, maxnorm: float) -> Any:
    """Slices along an axis, those of a greater norm made as short as `maxnorm`."""
    from .reduction import norm

    axis, dtype = axis_of(dim, rank(input)), dtype_of(input)
    others = [i for i in range(rank(input)) if i != axis]
    size = bb.emit(norm(bb, input, p, others, True))
    factor = op.divide(scalar(float(maxnorm), dtype), op.add(size, scalar(1e-7, dtype)))
    longer = op.greater(size, scalar(float(maxnorm), dtype))
    return op.multiply(input, op.where(longer, factor, scalar(1.0, dtype)))
