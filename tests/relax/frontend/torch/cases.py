"""Functions of torch with inputs for each, by family: what the importer's converters must compute.

A row is a name, a function of tensors, and inputs: a shape (random floats), a shape with a data
type, or (shape, what): `positive`, `unit` (within (-1, 1)), `index:N` (int64 below N).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional
aten = torch.ops.aten


class Case(NamedTuple):
    name: str
    func: Callable[..., Any]
    inputs: tuple[Any, ...]


def case(name: str, func: Callable[..., Any], *inputs: Any) -> Case:
    return Case(name, func, inputs)


def tensor(spec: Any, generator: Any) -> Any:
    """An input of a case."""
    shape, what = spec if isinstance(spec[-1:][0] if spec else 0, str) else (spec, "float32")
    if what == "positive":
        return torch.rand(shape, generator=generator) + 0.1
    if what == "unit":
        return torch.rand(shape, generator=generator) * 1.8 - 0.9
    if what == "above":
        return torch.rand(shape, generator=generator) + 1.1
    if what.startswith("index:"):
        return torch.randint(0, int(what[6:]), shape, generator=generator)
    if what == "bool":
        return torch.rand(shape, generator=generator) < 0.5
    kind = getattr(torch, what)
    if kind.is_floating_point:
        return (torch.randn(shape, generator=generator) * 1.2).to(kind)
    low = 1 if what.startswith("u") else -9
    values = torch.randint(low, 9, shape, generator=generator)
    return torch.where(values == 0, 3, values).to(kind)


X = (2, 3, 4)
IMAGE = (1, 4, 9, 7)

_UNARY = [
    "abs",
    "neg",
    "exp",
    "exp2",
    "expm1",
    "sigmoid",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sinh",
    "cosh",
    "asinh",
    "atan",
    "erf",
    "erfc",
    "ceil",
    "floor",
    "trunc",
    "round",
    "sign",
    "signbit",
    "square",
    "frac",
    "sinc",
    "isnan",
    "isinf",
    "isfinite",
    "isposinf",
    "isneginf",
    "logical_not",
    "nan_to_num",
    "relu",
    "deg2rad",
    "rad2deg",
    "positive",
]
_POSITIVE = ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"]
_UNIT = ["asin", "acos", "atanh", "arcsin", "arccos", "logit", "erfinv"]
_BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "atan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "copysign",
    "heaviside",
    "fmod",
    "remainder",
    "floor_divide",
    "xlogy",
]
_INTS = [
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "eq",
    "lt",
    "ge",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "fmod",
    "remainder",
]
_ACTIVATIONS = [
    "relu",
    "relu6",
    "silu",
    "selu",
    "elu",
    "celu",
    "gelu",
    "leaky_relu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardshrink",
    "softshrink",
    "tanhshrink",
    "softsign",
    "softplus",
    "mish",
    "logsigmoid",
    "rrelu",
]

ELEMENTWISE = [
    *[case(n, getattr(torch, n), X) for n in _UNARY],
    *[case(n, getattr(torch, n), (X, "positive")) for n in _POSITIVE],
    *[case(n, getattr(torch, n), (X, "unit")) for n in _UNIT],
    case("acosh", torch.acosh, (X, "above")),
    case("log of ints", torch.log, (X, "uint8")),
    case("exp of bools", torch.exp, (X, "bool")),
    case("abs of ints", torch.abs, (X, "int64")),
    case("infinities of ints", lambda x: (x.isposinf(), x.isneginf()), (X, "int64")),
    case("neg of ints", torch.neg, (X, "int32")),
    case("bitwise_not", torch.bitwise_not, (X, "int32")),
    case("bitwise_not of bools", torch.bitwise_not, (X, "bool")),
    case("round to decimals", lambda x: torch.round(x, decimals=2), X),
    case("round to hundreds", lambda x: torch.round(x * 1000, decimals=-2), X),
    case("halves round to even", lambda x: torch.round(torch.floor(x) + 0.5), X),
    case("logit with eps", lambda x: torch.logit(x, 0.2), (X, "unit")),
    case("nan_to_num of all", lambda x: torch.nan_to_num(x / (x - x)), X),
    case("expm1 of small", lambda x: torch.expm1(x * 1e-4), X),
    *[case(f"{n} (2)", getattr(torch, n), X, (3, 1)) for n in _BINARY],
    *[case(f"{n} of ints", getattr(torch, n), (X, "int32"), ((3, 1), "int32")) for n in _INTS],
    *[
        case(f"{n} of bools", getattr(torch, n), (X, "bool"), (X, "bool"))
        for n in ("logical_and", "logical_or", "logical_xor", "bitwise_and", "add", "mul")
    ],
    case("logical_and of numbers", torch.logical_and, (X, "int32"), X),
    case("pow", torch.pow, (X, "positive"), (3, 1)),
    case("pow of a number", lambda x: 2.0**x, X),
    case("pow to a number", lambda x: x**3, X),
    case("float_power", torch.float_power, (X, "positive"), (3, 1)),
    case("square of truth values", torch.square, (X, "bool")),
    case("softsign of integers", F.softsign, (X, "int64")),
    case("square root by pow", lambda x: x**0.5, (X, "positive")),
    case("shifts", lambda x: (x << 2, x >> 1), (X, "int32")),
    case("div of ints", torch.div, (X, "int32"), (X, "int32")),
    case("div floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), X, X),
    case("div trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), X, X),
    case(
        "div floor ints",
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        (X, "int32"),
        (X, "int32"),
    ),
    case(
        "div trunc ints",
        lambda x, y: torch.div(x, y, rounding_mode="trunc"),
        (X, "int32"),
        (X, "int32"),
    ),
    case("floor_divide ints", lambda x: x // 4, (X, "int64")),
    case("remainder by a number", lambda x: x % 3, (X, "int64")),
    case("add alpha", lambda x, y: torch.add(x, y, alpha=2), X, X),
    case("sub alpha", lambda x, y: torch.sub(x, y, alpha=0.5), X, X),
    case("rsub", lambda x: 3 - x, X),
    case("rsub alpha", lambda x: torch.rsub(x, 2, alpha=3), X),
    case("int plus float", lambda x: x + 1.5, (X, "int32")),
    case("int tensor and float tensor", torch.mul, (X, "int64"), X),
    case("int8 and uint8", torch.add, (X, "int8"), (X, "uint8")),
    case("bool times float", torch.mul, (X, "bool"), X),
    case("half and a float scalar", lambda x: x * 2.5, (X, "float16")),
    case("half and a scalar tensor", lambda x, s: x + s, (X, "float16"), ()),
    case("greater than a number", lambda x: x > 0.5, X),
    case("int equals float", lambda x: x == 2.0, (X, "int32")),
    case("lerp", torch.lerp, X, X, X),
    case("lerp by a number", lambda x, y: torch.lerp(x, y, 0.3), X, X),
    case("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5), X, X, X),
    case("addcdiv", lambda x, y, z: torch.addcdiv(x, y, z, value=0.5), X, X, (X, "positive")),
    case("clamp", lambda x: torch.clamp(x, -0.5, 0.5), X),
    case("clamp, the upper bound wins", lambda x: torch.clamp(x, 0.5, -0.5), X),
    case("clamp min", lambda x: torch.clamp(x, min=0.1), X),
    case("clamp max", lambda x: torch.clamp_max(x, 0.1), X),
    case("clamp ints", lambda x: torch.clamp(x, 1, 3), (X, "int64")),
    case("clamp ints from below", lambda x: torch.clamp(x, min=1), (X, "int64")),
    case("clamp by tensors", torch.clamp, X, (3, 4), (3, 4)),
    case("where", torch.where, (X, "bool"), X, X),
    case("where with a number", lambda m, x: torch.where(m, x, 0.0), (X, "bool"), X),
    case("masked_fill", lambda x, m: x.masked_fill(m, -1e4), X, ((3, 4), "bool")),
    case("masked_fill by inf", lambda x, m: x.masked_fill(m, float("-inf")), X, (X, "bool")),
    case("to int", lambda x: x.to(torch.int32), X),
    case("casts", lambda x: (x.half(), x.double(), x.long(), x.bool(), x.type_as(x.int())), X),
    case("isin", torch.isin, (X, "int64"), ((5,), "int64")),
]
ACTIVATION = [
    *[case(n, getattr(F, n), X) for n in _ACTIVATIONS],
    *[
        case(n, lambda x, n=n: getattr(F, n)(x, dim=1), X)
        for n in ("softmax", "log_softmax", "softmin")
    ],
    case("softmax as double", lambda x: F.softmax(x, -1, dtype=torch.float64), X),
    case(
        "softmax of rows that are masked",
        lambda x, m: aten._safe_softmax(torch.where(m, x, -torch.inf), -1),
        (9, 2), ((9, 2), "bool"),
    ),
    case("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), X),
    case("elu alpha", lambda x: F.elu(x, 0.7), X),
    case("celu alpha", lambda x: F.celu(x, 0.7), X),
    case("softplus beta", lambda x: F.softplus(x, 2.0, 3.0), X),
    case("hardtanh bounds", lambda x: F.hardtanh(x, -0.3, 0.8), X),
    case("threshold", lambda x: F.threshold(x, 0.2, -3.0), X),
    case("prelu", F.prelu, X, (3,)),
    case("prelu one", F.prelu, X, (1,)),
    case("glu", lambda x: F.glu(x, 2), X),
]
REDUCTION = [
    case("sum", torch.sum, X),
    case("sum of axes", lambda x: x.sum((0, -1), keepdim=True), X),
    case("sum of ints", lambda x: x.sum(1), (X, "int32")),
    case("sum of bools", torch.sum, (X, "bool")),
    case("sum as double", lambda x: x.sum(0, dtype=torch.float64), X),
    case("histc", lambda x: torch.histc(x, 6, -1.0, 1.5), X),
    case("histc of all numbers", lambda x: torch.histc(x, 5), X),
    case("histc of one number", lambda x: torch.histc(x * 0 + 2, 4), X),
    case("histc between the same", lambda x: torch.histc(x, 4, 1, 1), X),
    case("nansum", lambda x: torch.nansum(x / (x > 0), 1), X),
    case("mean", lambda x: x.mean(-1), X),
    case("prod", lambda x: x.prod(1), X),
    case("prod of all", torch.prod, X),
    case("amax", lambda x: torch.amax(x, (0, 2)), X),
    case("amin", lambda x: torch.amin(x, 1, True), X),
    case("aminmax", lambda x: torch.aminmax(x, dim=1), X),
    case("max", torch.max, X),
    case("max of an axis", lambda x: torch.max(x, 1), X),
    case("min of an axis", lambda x: torch.min(x, 2, keepdim=True), X),
    case("max of two", torch.max, X, X),
    case("argmax", lambda x: (torch.argmax(x), torch.argmax(x, 1), torch.argmax(x, 0, True)), X),
    case("argmin", lambda x: torch.argmin(x, -1), X),
    case("any", lambda x: (torch.any(x), torch.any(x, 1)), (X, "bool")),
    case("all", lambda x: (torch.all(x > -1), torch.all(x > -1, 1, keepdim=True)), X),
    case("of all", lambda x: (aten._is_all_true(x > -9), aten._is_any_true(x > 9)), X),
    case("any of bytes", lambda x: (torch.any(x), torch.all(x, 1)), (X, "uint8")),
    case("count_nonzero", lambda x: torch.count_nonzero(x > 0, 1), X),
    case("var", lambda x: (x.var(), x.var(1), x.var((0, 2), unbiased=False)), X),
    case("std", lambda x: (x.std(), x.std(1, keepdim=True), torch.std(x, 2, correction=0)), X),
    case("var of few", lambda x: (x.var(0, correction=2), x[:1].var(0)), X),
    case("var_mean", lambda x: torch.var_mean(x, 1), X),
    case("std_mean", lambda x: torch.std_mean(x, (0, 1), keepdim=True), X),
    case("logsumexp", lambda x: torch.logsumexp(x * 50, 1), X),
    *[
        case(f"norm {p}", lambda x, p=p: torch.linalg.vector_norm(x, p, 1), X)
        for p in (0, 1, 2, 3, float("inf"), -float("inf"))
    ],
    case("norm of all", lambda x: x.norm(), X),
    case("cumsum", lambda x: x.cumsum(1), X),
    case("cumsum of ints", lambda x: x.cumsum(-1), (X, "int32")),
    case("cumprod", lambda x: x.cumprod(2), X),
    case("cummax", lambda x: torch.cummax(x, 2), X),
    case("cummin", lambda x: torch.cummin(x, 1), X),
    case("logcumsumexp", lambda x: torch.logcumsumexp(x, 2), X),
    case("diff", lambda x: torch.diff(x, n=2), X),
    case("diff none", lambda x, y: torch.diff(x, 0, 2, y, y), X, (2, 3, 1)),
    case("dist", torch.dist, X, X),
    case("trace", torch.trace, (3, 4)),
    *[
        case(f"linalg.norm {order}", lambda x, order=order: torch.linalg.norm(x, order), (3, 4))
        for order in (None, "fro", 1, -1, math.inf, -math.inf)
    ],
    case("linalg.norm along two axes", lambda x: torch.linalg.norm(x, 1, (2, 0), True), X),
    case("linalg.norm along one axis", lambda x: torch.linalg.norm(x, 1, 1), X),
    *[
        case(f"{name} of one number", lambda x, f=f: f(x), ())
        for name, f in {
            "softmax": lambda x: F.softmax(x, 0), "log_softmax": lambda x: F.log_softmax(x, -1),
            "sort": lambda x: torch.sort(x, 0), "topk": lambda x: torch.topk(x, 1),
            "max": lambda x: torch.max(x, 0, keepdim=True), "argmin": lambda x: torch.argmin(x, -1),
            "cumsum": lambda x: torch.cumsum(x, 0), "cummax": lambda x: torch.cummax(x, -1),
            "logsumexp": lambda x: torch.logsumexp(x, 0), "median": lambda x: torch.median(x, 0),
            "norm": lambda x: torch.linalg.vector_norm(x, 2, 0, keepdim=True),
        }.items()
    ],
]
LINEAR = [
    case("mm", torch.mm, (3, 4), (4, 5)),
    case("bmm", torch.bmm, X, (2, 4, 5)),
    case("matmul", torch.matmul, (2, 1, 3, 4), (5, 4, 2)),
    case("matmul of a vector", torch.matmul, X, (4,)),
    case("mv and dot", lambda a, v: (a @ v, torch.dot(v, v)), (3, 4), (4,)),
    case("matmul of halves", torch.matmul, ((3, 4), "float16"), ((4, 5), "float16")),
    case("linear", F.linear, X, (5, 4), (5,)),
    case("linear without bias", F.linear, X, (5, 4)),
    case("bilinear", F.bilinear, (2, 3), (2, 4), (5, 3, 4), (5,)),
    case("addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2.0), (5,), (3, 4), (4, 5)),
    case("addmm without input", lambda c, a, b: torch.addmm(c, a, b, beta=0), (5,), (3, 4), (4, 5)),
    case("addmv", torch.addmv, (3,), (3, 4), (4,)),
    case("addbmm", torch.addbmm, (3, 5), X, (2, 4, 5)),
    case("addr", torch.addr, (3, 4), (3,), (4,)),
    case(
        "addr of nan",
        lambda c, a, b: torch.addr(c * torch.nan, a, b, beta=0), (3, 4), (3,), (4,),
    ),
    case(
        "addbmm of nan",
        lambda c, a, b: torch.addbmm(c * torch.nan, a, b, beta=0), (3, 5), X, (2, 4, 5),
    ),
    case("baddbmm", lambda c, a, b: torch.baddbmm(c, a, b, alpha=0.5), (2, 3, 5), X, (2, 4, 5)),
    case("outer", torch.outer, (3,), (4,)),
    case("inner", torch.inner, X, (5, 4)),
    case("vecdot", torch.linalg.vecdot, X, X),
    case("einsum", lambda a, b: torch.einsum("bij,bjk->bik", a, b), X, (2, 4, 5)),
    case("einsum of one", lambda a: torch.einsum("ii->i", a), (3, 3)),
    case("tensordot", lambda a, b: torch.tensordot(a, b, 2), X, (3, 4, 5)),
    case("tensordot of axes", lambda a, b: torch.tensordot(a, b, ([0, 1], [1, 0])), X, (3, 2, 5)),
    case("kron", torch.kron, (2, 3), (3, 2)),
    case("multi_dot", lambda a, b, c: torch.linalg.multi_dot([a, b, c]), (2, 3), (3, 4), (4, 2)),
    *[
        case(f"cdist {p}", lambda a, b, p=p: torch.cdist(a, b, p), (2, 3, 4), (2, 5, 4))
        for p in (1.0, 2.0)
    ],
    case("pdist", torch.pdist, (4, 3)),
    case("pairwise_distance", F.pairwise_distance, (3, 4), (3, 4)),
    case("cosine_similarity", F.cosine_similarity, X, X),
    case(
        "cosine_similarity broadcast",
        lambda a, b: F.cosine_similarity(a, b, -2), (1, 3, 4), (2, 1, 4),
    ),
    case("cross", lambda a, b: torch.linalg.cross(a, b, dim=1), X, X),
    case("conv1d", lambda x, w, b: F.conv1d(x, w, b, 2, 1), (2, 4, 9), (6, 4, 3), (6,)),
    case(
        "conv2d",
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 0), (1, 2)),
        IMAGE,
        (6, 4, 3, 3),
        (6,),
    ),
    case("conv2d groups", lambda x, w: F.conv2d(x, w, groups=2), IMAGE, (6, 2, 3, 3)),
    case("conv2d depthwise", lambda x, w: F.conv2d(x, w, padding=1, groups=4), IMAGE, (4, 1, 3, 3)),
    case("conv2d same", lambda x, w: F.conv2d(x, w, padding="same"), IMAGE, (6, 4, 2, 3)),
    case("conv2d valid", lambda x, w: F.conv2d(x, w, padding="valid"), IMAGE, (6, 4, 3, 3)),
    case("conv2d without a batch", F.conv2d, IMAGE[1:], (6, 4, 3, 3), (6,)),
    case(
        "conv3d",
        lambda x, w, b: F.conv3d(x, w, b, padding=1),
        (1, 2, 4, 5, 6),
        (3, 2, 3, 3, 3),
        (3,),
    ),
    case(
        "conv_transpose1d",
        lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1),
        (2, 4, 9),
        (4, 6, 3),
        (6,),
    ),
    case(
        "conv_transpose2d",
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1),
        IMAGE,
        (4, 6, 3, 3),
        (6,),
    ),
    case(
        "conv_transpose2d groups",
        lambda x, w: F.conv_transpose2d(x, w, stride=2, groups=2),
        IMAGE,
        (4, 3, 3, 3),
    ),
    case(
        "conv_transpose2d dilated",
        lambda x, w: F.conv_transpose2d(x, w, dilation=2),
        IMAGE,
        (4, 3, 3, 3),
    ),
    case(
        "conv_transpose3d",
        lambda x, w, b: F.conv_transpose3d(x, w, b, 2, 1, 1),
        (1, 2, 3, 4, 5),
        (2, 3, 3, 3, 3),
        (3,),
    ),
    case(
        "conv_transpose3d groups",
        lambda x, w: F.conv_transpose3d(x, w, stride=(1, 2, 3), groups=2),
        (1, 4, 3, 4, 5),
        (4, 2, 3, 2, 2),
    ),
]
NORMALIZE = [
    case(
        "batch_norm",
        lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b),
        IMAGE,
        (4,),
        (4,),
        (4,),
        ((4,), "positive"),
    ),
    case(
        "batch_norm without scale",
        lambda x, m, v: F.batch_norm(x, m, v),
        (3, 4),
        (4,),
        ((4,), "positive"),
    ),
    case(
        "batch_norm of the batch", lambda x: F.batch_norm(x, None, None, training=True), (3, 4, 5)
    ),
    case("layer_norm", lambda x, w, b: F.layer_norm(x, (3, 4), w, b), X, (3, 4), (3, 4)),
    case("layer_norm without scale", lambda x: F.layer_norm(x, (4,), eps=1e-3), X),
    case("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), IMAGE, (4,), (4,)),
    case("group_norm without scale", lambda x: F.group_norm(x, 2), (2, 4, 5)),
    case("instance_norm", F.instance_norm, IMAGE),
    case("rms_norm", lambda x, w: F.rms_norm(x, (4,), w, 1e-6), X, (4,)),
    case("rms_norm plain", lambda x: F.rms_norm(x, (4,)), X),
    case("local_response_norm", lambda x: F.local_response_norm(x, 3), IMAGE),
    case("normalize", lambda x: F.normalize(x, dim=1), X),
    case(
        "native_batch_norm",
        lambda x, m, v: torch.native_batch_norm(x, m, v, m, v, False, 0.1, 1e-5)[:3],
        X, (3,), ((3,), "positive"),
    ),
]
POOL = [
    case("max_pool1d", lambda x: F.max_pool1d(x, 3, 2, 1), (2, 4, 9)),
    case("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), IMAGE),
    case("max_pool2d ceil", lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True), IMAGE),
    case("max_pool2d ceil behind", lambda x: F.max_pool2d(x, 2, 2, 1, ceil_mode=True), IMAGE),
    case("max_pool2d dilated", lambda x: F.max_pool2d(x, 2, 1, dilation=2), IMAGE),
    case("max_pool2d without a batch", lambda x: F.max_pool2d(x, 2), IMAGE[1:]),
    case("max_pool2d places", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), IMAGE),
    case("max_pool1d places", lambda x: F.max_pool1d(x, 2, return_indices=True), (2, 4, 9)),
    case("max_pool3d", lambda x: F.max_pool3d(x, 2), (1, 2, 4, 5, 6)),
    case("max_pool3d places", lambda x: F.max_pool3d(x, 2, return_indices=True), (1, 2, 4, 5, 6)),
    case("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1), (2, 4, 9)),
    case("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), IMAGE),
    case("avg_pool2d inside", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), IMAGE),
    case("avg_pool2d ceil", lambda x: F.avg_pool2d(x, 2, 2, ceil_mode=True), IMAGE),
    case("avg_pool2d ceil behind", lambda x: F.avg_pool2d(x, 1, 3, ceil_mode=True), (1, 2, 6, 7)),
    case("avg_pool2d divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3), IMAGE),
    case("avg_pool3d", lambda x: F.avg_pool3d(x, 2, 1, 1), (1, 2, 4, 5, 6)),
    case("lp_pool2d", lambda x: F.lp_pool2d(x, 2, 3), IMAGE),
    case("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 4), (2, 4, 9)),
    case("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (3, None)), IMAGE),
    case("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, 2), (1, 2, 4, 5, 6)),
    case("adaptive_max_pool1d", lambda x: F.adaptive_max_pool1d(x, 4), (2, 4, 9)),
    case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (4, 3)), IMAGE),
    case(
        "adaptive_max_pool2d places",
        lambda x: F.adaptive_max_pool2d(x, 2, return_indices=True),
        IMAGE,
    ),
]
SHAPE = [
    case("view_of_integers", lambda x: x.view(torch.int32), X),
    case("view_of_bytes", lambda x: (x.view(torch.uint8), x.view(torch.float64)), X),
    case("reshape", lambda x: (x.reshape(6, -1), x.view(4, 6), x.view(-1)), X),
    case("flatten", lambda x: (torch.flatten(x), x.flatten(1), x.ravel()), X),
    case("unflatten", lambda x: x.unflatten(2, (2, -1)), X),
    case("permute", lambda x: (x.permute(2, 0, 1), x.transpose(0, -1), x.mT, x[0].T, x[0].t()), X),
    case("movedim", lambda x: (torch.movedim(x, 0, 2), torch.movedim(x, (0, 1), (1, 2))), X),
    case(
        "squeeze", lambda x: (x.squeeze(), x.squeeze(0), x.squeeze((0, 2)), x.squeeze(1)), (1, 3, 1)
    ),
    case("unsqueeze", lambda x: (x.unsqueeze(0), x.unsqueeze(-1)), X),
    case("expand", lambda x: (x.expand(2, 3, -1), torch.broadcast_to(x, (5, 3, 4))), (3, 4)),
    case("expand_as", lambda x, y: (x.expand_as(y), y.view_as(y)), (3, 1), X),
    case("broadcast_tensors", lambda x, y: torch.broadcast_tensors(x, y), (3, 1), (1, 4)),
    case("repeat", lambda x: (x.repeat(2, 1, 3), torch.tile(x, (2,))), X),
    case("repeat_interleave", lambda x: (x.repeat_interleave(2, 1), x.repeat_interleave(3)), X),
    case("cat", lambda x, y: torch.cat([x, y], 1), X, (2, 1, 4)),
    case("cat of types", lambda x, y: torch.cat([x, y]), X, (X, "int64")),
    case("stack", lambda x, y: (torch.stack([x, y]), torch.stack([x, y], -1)), X, X),
    case(
        "stacks",
        lambda x, y: (torch.hstack([x, y]), torch.vstack([x, y]), torch.dstack([x, y])),
        (3, 4),
        (3, 4),
    ),
    case(
        "stacks of rows",
        lambda x: (torch.hstack([x, x]), torch.vstack([x, x]), torch.column_stack([x, x])),
        (3,),
    ),
    case("split", lambda x: (*x.split(2, 2), *x.split([1, 2], 1), *x.split(3, 2)), X),
    case("chunk", lambda x: (*x.chunk(2, 2), *x.chunk(2, 1), *x.chunk(5, 2)), (2, 3, 9)),
    case("chunk", lambda x: (*x.chunk(1, 1), *x.split(9, 2), *x.tensor_split(1)), (2, 3, 9)),
    case(
        "tensor_split",
        lambda x: (*torch.tensor_split(x, 2, 1), *torch.tensor_split(x, [1, 3], 2)),
        X,
    ),
    case("unbind", lambda x: (*x.unbind(1), *x.unbind(0)), X),
    case("flip", lambda x: (x.flip(0, 2), torch.fliplr(x), torch.flipud(x)), X),
    case("rot90", lambda x: [torch.rot90(x, k) for k in range(4)], (3, 4)),
    case("roll", lambda x: (torch.roll(x, 1), torch.roll(x, (1, -2), (0, 2))), X),
    case("meshgrid of one", lambda x: torch.meshgrid(x, indexing="ij"), (3,)),
    case("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), (3,), (4,)),
    case("meshgrid xy", lambda x, y: torch.meshgrid(x, y, indexing="xy"), (3,), (4,)),
    case("channel_shuffle", lambda x: F.channel_shuffle(x, 2), IMAGE),
    case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), IMAGE),
    case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), (1, 2, 4, 6)),
    case("views", lambda x: x.clone().contiguous().detach() + x.view_as(x), X),
]
SLICING = [
    case("slice_scatter", lambda x, s: torch.slice_scatter(x, s, 1, 0, 2), X, (2, 2, 4)),
    case("select_scatter", lambda x, s: torch.select_scatter(x, s, 1, -1), X, (2, 4)),
    case("diagonal_scatter", lambda x, s: torch.diagonal_scatter(x, s), (3, 3), (3,)),
    case("slices", lambda x: (x[0], x[:, 1:], x[..., ::2], x[-1, None, :, 1], x[:, -2:-1]), X),
    case("select and narrow", lambda x: (x.select(1, -1), x.narrow(2, 1, 2)), X),
    case("as_strided", lambda x: torch.as_strided(x, (2, 3), (1, 2), 1), X),
    case(
        "diagonal",
        lambda x: (torch.diagonal(x, 1, 1, 2), torch.diag(x[0]), torch.diag(x[0, 0], 1)),
        X,
    ),
    case("diag_embed", lambda x: torch.diag_embed(x, 1), (2, 3)),
    case("unfold", lambda x: x.unfold(2, 3, 2), (2, 3, 9)),
    case("im2col", lambda x: F.unfold(x, (2, 3), 1, 1, 2), IMAGE),
    case("col2im", lambda x: F.fold(x, (6, 5), (3, 2), 1, 1, 2), (2, 12, 9)),
    case("tril and triu", lambda x: (x.tril(), x.triu(1), x.tril(-1)), X),
    case("item", lambda x: x.sum() * x[0, 0, 0], X),
]
PAD = [
    *[
        case(f"pad {mode}", lambda x, mode=mode: F.pad(x, (2, 1, 1, 0), mode=mode), IMAGE)
        for mode in ("reflect", "replicate", "circular")
    ],
    case("pad constant", lambda x: (F.pad(x, (1, 2), value=3.0), F.pad(x, (-1, 1, 0, -1))), X),
]
INDEXING = [
    case("gather", lambda x, i: torch.gather(x, 1, i), X, ((2, 5, 4), "index:3")),
    case("index_select", lambda x, i: torch.index_select(x, 2, i), X, ((5,), "index:4")),
    case("take", torch.take, X, ((2, 2), "index:24")),
    case("take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), X, ((2, 2, 4), "index:3")),
    case("embedding", F.embedding, ((2, 5), "index:7"), (7, 4)),
    case("embedding of a row", F.embedding, ((5,), "index:7"), (7, 4)),
    case(
        "embedding_bag",
        lambda i, w: F.embedding_bag(i, w, torch.tensor([0, 2, 2]), mode="sum"),
        ((6,), "index:7"),
        (7, 4),
    ),
    case(
        "embedding_bag padding",
        lambda i, w: F.embedding_bag(i, w, torch.tensor([0, 2]), mode="mean", padding_idx=-2),
        ((6,), "index:5"), (5, 3),
    ),
    case("gather of one number", lambda x, i: torch.gather(x, 0, i), (), ((3,), "index:1")),
    case("masked_scatter broadcast", torch.masked_scatter, (4,), ((3, 4), "bool"), (12,)),
    case(
        "embedding_bag mean",
        lambda i, w: F.embedding_bag(i, w, mode="mean"),
        ((3, 2), "index:7"),
        (7, 4),
    ),
    case(
        "scatter", lambda x, i, s: torch.scatter(x, 1, i, s), X, ((2, 1, 4), "index:3"), (2, 2, 4)
    ),
    case("scatter a number", lambda x, i: torch.scatter(x, 2, i, 1.5), X, ((2, 3, 1), "index:4")),
    case(
        "scatter_add",
        lambda x, i, s: torch.scatter_add(x, 1, i, s),
        X,
        ((2, 5, 4), "index:3"),
        (2, 5, 4),
    ),
    *[
        case(
            f"scatter_reduce {r}",
            lambda x, i, s, r=r: torch.scatter_reduce(x, 1, i, s, r),
            X,
            ((2, 5, 4), "index:3"),
            (2, 5, 4),
        )
        for r in ("sum", "prod", "amax", "amin", "mean")
    ],
    case(
        "scatter_reduce alone",
        lambda x, i, s: torch.scatter_reduce(x, 1, i, s, "amax", include_self=False),
        X,
        ((2, 5, 4), "index:3"),
        (2, 5, 4),
    ),
    case(
        "index_add",
        lambda x, i, s: torch.index_add(x, 1, i, s, alpha=0.5),
        X,
        ((4,), "index:3"),
        (2, 4, 4),
    ),
    case("index_copy", lambda x, s: torch.index_copy(x, 1, torch.tensor([2, 0]), s), X, (2, 2, 4)),
    case("index_fill", lambda x: torch.index_fill(x, 2, torch.tensor([0, 3]), 7.0), X),
    case(
        "index_put", lambda x, i, v: torch.index_put(x, (i,), v), (6, 4), ((1,), "index:6"), (1, 4)
    ),
    case(
        "index_put add",
        lambda x, i, v: torch.index_put(x, (i,), v, accumulate=True),
        (6, 4),
        ((5,), "index:6"),
        (5, 4),
    ),
    case(
        "index_put two",
        lambda x, i, v: torch.index_put(x, (i, i), v, accumulate=True),
        (6, 6),
        ((5,), "index:6"),
        (5,),
    ),
    case(
        "index_put around",
        lambda x, i, v: torch.ops.aten.index_put(x, [None, i], v, True),
        X,
        ((2,), "index:3"),
        (4,),
    ),
    case(
        "index_put by a mask",
        lambda x, m: torch.index_put(x, (m,), torch.tensor(0.5)),
        X,
        (X, "bool"),
    ),
    case("masked_scatter", torch.masked_scatter, X, (X, "bool"), X),
    case("one_hot", lambda i: F.one_hot(i, 5), ((2, 3), "index:5")),
    case("index", lambda x, i: (x[i], x[:, i], x[i, i], x[i, :, i]), (3, 3, 4), ((5,), "index:3")),
    case("index by a table", lambda x, i: (x[:, i], x[i]), (3, 3, 4), ((2, 2), "index:3")),
    case("index from the end", lambda x: x[:, torch.tensor([-1, 0])], X),
]
SORTING = [
    case("median", lambda x: (x.median(), *x.median(2)), X),
    case("kthvalue", lambda x: torch.kthvalue(x, 2, 1), X),
    case("sort", lambda x: (*torch.sort(x, 1), *x.sort(descending=True, stable=True)), X),
    case("msort", torch.msort, X),
    *[
        case(f"bincount of {kind}", torch.bincount, ((6,), "index:4"), ((6,), kind))
        for kind in ("float32", "float64", "int64")
    ],
    case("argsort", lambda x: (torch.argsort(x, 1), x.argsort(descending=True)), X),
    case("topk", lambda x: (*torch.topk(x, 2), *x.topk(2, 1, largest=False)), X),
    case("bucketize", lambda x, b: torch.bucketize(x, b.sort().values), X, (5,)),
    case(
        "searchsorted",
        lambda b, x: torch.searchsorted(b.sort(-1).values, x, right=True),
        (2, 5),
        (2, 3),
    ),
]
CREATE = [
    case("full", lambda x: x + torch.full((3, 4), 2.5), X),
    case(
        "ones and zeros", lambda x: (torch.ones(2, 3), torch.zeros((2,), dtype=torch.int64), x), X
    ),
    case(
        "likes",
        lambda x: (
            torch.ones_like(x),
            torch.zeros_like(x, dtype=torch.int32),
            torch.full_like(x, 2),
        ),
        X,
    ),
    case("news", lambda x: (x.new_ones(2, 3), x.new_zeros((2,)), x.new_full((2,), 3.0)), X),
    case(
        "arange", lambda x: (torch.arange(4), torch.arange(1, 7, 2), torch.arange(0, 1, 0.25), x), X
    ),
    case("linspace", lambda x: x + torch.linspace(0, 1, 4), X),
    case("eye", lambda x: (torch.eye(3), torch.eye(2, 3), x), X),
    case("tril_indices", lambda x: (torch.tril_indices(3, 4), torch.triu_indices(3, 3, 1), x), X),
    case("scalar_tensor", lambda x: x * torch.tensor(2.0), X),
    case("fill", lambda x: (torch.fill(x, 3.0), aten.copy(x, x[0])), X),
    case("windows", lambda x: (torch.hamming_window(6), torch.hann_window(5), x), X),
    case("bytes and negative numbers", lambda x: (torch.fmod(x, -2), x > -2), (X, "uint8")),
    case("vander", lambda x: torch.vander(x, 3), (4,)),
    case("vander", lambda x: torch.vander(x, 3), ((4,), "int8")),
    case("arange of cut bounds", lambda x: x + torch.arange(0.9, 3.1, dtype=torch.int64), ()),
]
RESAMPLE = [
    *[
        case(f"interpolate {m}", lambda x, m=m: F.interpolate(x, (5, 12), mode=m), IMAGE)
        for m in ("area", "nearest", "nearest-exact", "bilinear", "bicubic")
    ],
    *[
        case(
            f"interpolate corners {m}",
            lambda x, m=m: F.interpolate(x, (5, 12), mode=m, align_corners=True),
            IMAGE,
        )
        for m in ("bilinear", "bicubic")
    ],
    *[
        case(
            f"interpolate by 2 {m}", lambda x, m=m: F.interpolate(x, scale_factor=2, mode=m), IMAGE
        )
        for m in ("nearest", "bilinear")
    ],
    case(
        "interpolate by 1.3", lambda x: F.interpolate(x, scale_factor=1.3, mode="bilinear"), IMAGE
    ),
    case(
        "interpolate antialias",
        lambda x: F.interpolate(x, (4, 3), mode="bilinear", antialias=True),
        IMAGE,
    ),
    case(
        "interpolate 1d",
        lambda x: (F.interpolate(x, 5), F.interpolate(x, 5, mode="linear")),
        (1, 2, 9),
    ),
    case(
        "interpolate 3d",
        lambda x: (F.interpolate(x, (2, 3, 9)), F.interpolate(x, (3, 7, 2), mode="trilinear")),
        (1, 2, 4, 5, 6),
    ),
    *[
        case(
            f"grid_sample {m} {p} {c}",
            lambda x, g, m=m, p=p, c=c: F.grid_sample(x, g, m, p, c),
            IMAGE,
            ((1, 3, 4, 2), "unit"),
        )
        for m, p, c in (
            ("bilinear", "zeros", False),
            ("bilinear", "border", True),
            ("nearest", "zeros", False),
            ("bicubic", "zeros", False),
            ("bilinear", "reflection", False),
        )
    ],
    *[
        case(f"affine_grid {c}", lambda t, c=c: F.affine_grid(t, (2, 3, 4, 5), c), (2, 2, 3))
        for c in (False, True)
    ],
]
LOSS = [
    *[
        case(f"{n} {r}", lambda x, y, n=n, r=r: getattr(F, n)(x, y, reduction=r), X, X)
        for n in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
        for r in ("mean", "sum", "none")
    ],
    case("cross_entropy", lambda x, t: F.cross_entropy(x, t), (6, 5), ((6,), "index:5")),
    case(
        "cross_entropy weights",
        lambda x, t, w: F.cross_entropy(x, t, w, reduction="sum"),
        (6, 5),
        ((6,), "index:5"),
        ((5,), "positive"),
    ),
    case(
        "cross_entropy smooth",
        lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1),
        (6, 5),
        ((6,), "index:5"),
    ),
    case("cross_entropy chances", lambda x, t: F.cross_entropy(x, F.softmax(t, 1)), (6, 5), (6, 5)),
    case(
        "cross_entropy pictures", lambda x, t: F.cross_entropy(x, t), (2, 5, 3), ((2, 3), "index:5")
    ),
    case("nll_loss", lambda x, t: F.nll_loss(x, t, ignore_index=2), (6, 5), ((6,), "index:5")),
    case(
        "bce",
        lambda x, t: F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(t)),
        (6, 5),
        (6, 5),
    ),
    case(
        "bce logits",
        lambda x, t: F.binary_cross_entropy_with_logits(x, torch.sigmoid(t)),
        (6, 5),
        (6, 5),
    ),
    case(
        "bce logits weights",
        lambda x, t, w: F.binary_cross_entropy_with_logits(x, t, pos_weight=w),
        (6, 5),
        ((6, 5), "positive"),
        ((5,), "positive"),
    ),
    *[
        case(
            f"kl_div {r}",
            lambda x, t, r=r: F.kl_div(F.log_softmax(x, 1), F.softmax(t, 1), reduction=r),
            (6, 5),
            (6, 5),
        )
        for r in ("mean", "batchmean", "sum")
    ],
    case("soft_margin_loss", lambda x, t: F.soft_margin_loss(x, torch.sign(t)), (6, 5), (6, 5)),
    case(
        "margin_ranking_loss",
        lambda a, b, t: F.margin_ranking_loss(a, b, torch.sign(t), 0.3),
        (6,),
        (6,),
        (6,),
    ),
    case("hinge_embedding_loss", lambda a, t: F.hinge_embedding_loss(a, torch.sign(t)), (6,), (6,)),
    case(
        "cosine_embedding_loss",
        lambda a, b, t: F.cosine_embedding_loss(a, b, torch.sign(t)),
        (6, 4),
        (6, 4),
        (6,),
    ),
    case("triplet_margin_loss", F.triplet_margin_loss, (6, 4), (6, 4), (6, 4)),
    case("poisson_nll_loss", F.poisson_nll_loss, (6, 4), ((6, 4), "positive")),
]
ATTENTION = [
    case("attention", F.scaled_dot_product_attention, (2, 3, 5, 8), (2, 3, 6, 8), (2, 3, 6, 4)),
    case("attention", F.scaled_dot_product_attention, (2, 3, 5, 8), (2, 1, 6, 8), (1, 1, 6, 4)),
    case("attention", F.scaled_dot_product_attention, (1, 3, 5, 8), (2, 3, 6, 8), (3, 6, 4)),
    case(
        "attention causal",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        (2, 3, 5, 8),
        (2, 3, 5, 8),
        (2, 3, 5, 8),
    ),
    case(
        "attention mask",
        F.scaled_dot_product_attention,
        (2, 3, 5, 8),
        (2, 3, 6, 8),
        (2, 3, 6, 8),
        (5, 6),
    ),
    case(
        "attention bools",
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, torch.ones(5, 6, dtype=torch.bool).tril(1)
        ),
        (2, 3, 5, 8),
        (2, 3, 6, 8),
        (2, 3, 6, 8),
    ),
    case(
        "attention scale",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3),
        (2, 5, 8),
        (2, 6, 8),
        (2, 6, 8),
    ),
    case(
        "attention groups",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        (2, 4, 5, 8),
        (2, 2, 6, 8),
        (2, 2, 6, 8),
    ),
    case(
        "multi_head_attention with more places",
        lambda x, w, bias, key, mask: F.multi_head_attention_forward(
            x, x, x, 4, 2, w, bias, key, key, True, 0.0, w[:4], bias[:4], False, attn_mask=mask
        ),
        (3, 2, 4), (12, 4), (12,), (1, 1, 4), ((3, 3), "unit"),
    ),
]
_encoder = torch.ops.aten._transformer_encoder_layer_fwd
_attend = torch.ops.aten._native_multi_head_attention
_hidden = lambda x, rows: torch.arange(x.shape[1])[None] >= torch.arange(3, 3 + rows)[:, None]
_layer = ((2, 5, 4), (12, 4), (12,), (4, 4), (4,), (6, 4), (6,), (4, 6))


def _encode(use_gelu: bool, norm_first: bool, mask: Any = None, kind: int | None = None) -> Any:
    """An encoder layer over operands of the shapes `_layer`; `mask` makes one of the input."""

    def run(x: Any, qkv: Any, qkv_b: Any, out: Any, b: Any, up: Any, up_b: Any, down: Any) -> Any:
        hidden = None if mask is None else mask(x)
        return _encoder(x, 4, 2, qkv, qkv_b, out, b, use_gelu, norm_first, 1e-5, b, b, out[0],
                        out[1], up, up_b, down, b, hidden, kind)  # fmt: skip

    return run


ENCODER = [
    case("encoder", _encode(False, False), *_layer),
    case("encoder gelu, norms first", _encode(True, True), *_layer),
    case("encoder rows hidden", _encode(False, False, lambda x: _hidden(x, 5), 0), *_layer),
    case("encoder places hidden", _encode(False, True, lambda x: _hidden(x, 2), 1), *_layer),
    case("encoder all hidden apart",
         _encode(True, False, lambda x: _hidden(x, 5).expand(2, 2, 5, 5), 2), *_layer),
    # both parts by their places: what is traced is one value, which `tuple` would iterate
    case("multi_head_attention at once",
         lambda x, qkv, qkv_b, out, b: [(found := _attend(x, x, x, 4, 2, qkv, qkv_b, out, b))[0],
                                        found[1]],
         *_layer[:5]),
]
# an odd number of rows swapped, a zero on the diagonal, a matrix of one element
_solvable = lambda a: a + 3 * torch.eye(a.shape[-1]).flip(0)
_definite = lambda a: a @ a.mT + torch.eye(a.shape[-1])
EQUATIONS = [
    case("det", lambda a: torch.linalg.det(_solvable(a)), (2, 3, 5, 5)),
    case("det of one element", torch.det, (1, 1)),
    case("slogdet", lambda a: tuple(torch.linalg.slogdet(_solvable(a))), (2, 4, 4)),
    case("logdet", lambda a: torch.logdet(_definite(a)), (2, 4, 4)),
    case("inv", lambda a: torch.linalg.inv(_solvable(a)), (2, 5, 5)),
    case("inverse", lambda a: torch.inverse(_solvable(a)), ((4, 4), "float64")),
    case("inv_ex", lambda a: tuple(torch.linalg.inv_ex(_solvable(a))), (2, 4, 4)),
    case("lu_factor", lambda a: tuple(torch.linalg.lu_factor(_solvable(a))), (2, 4, 4)),
    case("solve", lambda a, b: torch.linalg.solve(_solvable(a), b), (2, 4, 4), (2, 4, 3)),
    case("solve a vector", lambda a, b: torch.linalg.solve(_solvable(a), b), (2, 4, 4), (2, 4)),
    case("solve of one matrix", lambda a, b: torch.linalg.solve(_solvable(a), b),
         (4, 4), (2, 4, 3)),
    case("solve from the right", lambda a, b: torch.linalg.solve(_solvable(a), b, left=False),
         (2, 4, 4), (2, 3, 4)),
    case("cholesky", lambda a: torch.linalg.cholesky(_definite(a)), (2, 4, 4)),
    case("cholesky, upper", lambda a: torch.linalg.cholesky(_definite(a), upper=True), (4, 4)),
    case("cholesky_ex", lambda a: tuple(torch.linalg.cholesky_ex(_definite(a))), (2, 4, 4)),
    case("cholesky_solve", lambda a, b: torch.cholesky_solve(b, a + 3 * torch.eye(4)),
         (4, 4), (4, 2)),
    case("cholesky_inverse", lambda a: torch.cholesky_inverse(a + 3 * torch.eye(4), upper=True),
         (4, 4)),
    case("solve_triangular", lambda a, b: torch.linalg.solve_triangular(
        a + 3 * torch.eye(4), b, upper=False), (2, 4, 4), (2, 4, 3)),
    case("solve_triangular from the right", lambda a, b: torch.linalg.solve_triangular(
        a, b, upper=True, left=False, unitriangular=True), (2, 4, 4), (2, 3, 4)),
    case("triangular_solve", lambda a, b: tuple(torch.triangular_solve(
        b, a + 3 * torch.eye(4), transpose=True)), (2, 4, 4), (2, 4, 3)),
]
INTEGERS = [
    case("gcd", torch.gcd, ((4, 5), "int64"), ((5,), "int64")),
    case("gcd of two types", torch.gcd, ((4, 5), "int32"), ((4, 1), "int16")),
    case("lcm", torch.lcm, ((4, 5), "int64"), ((5,), "int64")),
    case("gcd and lcm of zeros", lambda a: (torch.gcd(a, a * 0), torch.lcm(a * 0, a * 0)),
         ((6,), "int64")),
    case("nextafter", torch.nextafter, X, X),
    case("frexp", lambda x: tuple(torch.frexp(x)), X),
    case("frexp of subnormal numbers", lambda x: tuple(torch.frexp(x * 1e-42)), X),
    case("frexp of doubles", lambda x: tuple(torch.frexp(x)), (X, "float64")),
]
FAMILIES = {
    "activation": ACTIVATION,
    "attention": ATTENTION,
    "create": CREATE,
    "elementwise": ELEMENTWISE,
    "encoder": ENCODER,
    "equations": EQUATIONS,
    "indexing": INDEXING,
    "integers": INTEGERS,
    "linear": LINEAR,
    "loss": LOSS,
    "normalize": NORMALIZE,
    "pad": PAD,
    "pool": POOL,
    "reduction": REDUCTION,
    "resample": RESAMPLE,
    "shape": SHAPE,
    "slicing": SLICING,
    "sorting": SORTING,
}
