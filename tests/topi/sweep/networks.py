"""Layers of neural networks, against torch."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import scipy.special

from tests.topi.sweep.by_torch import F, by_torch
from tests.topi.sweep.case import Case, case, floats, ints, numbers
from tvm import topi

TOLERANCE = {"float32": 1e-4, "float16": 5e-2, "float64": 1e-7}
LAST = {3: (0, 2, 1), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


def channels_last(function: Any) -> Any:
    """A function of channels-first data and kernels, for those with the channels last."""

    def turned(x: Any, w: Any) -> Any:
        dims = x.ndim - 2
        data = x.permute(0, dims + 1, *range(1, dims + 1))
        out = function(data, w.permute(dims + 1, dims, *range(dims)))
        return out.permute(LAST[x.ndim])

    return turned


CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
CONV_TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def convolutions() -> list[Case]:
    cases = []
    forms = [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (2, 1, 1, 2)]
    named = {1: ("nn.conv1d_ncw", "nn.conv1d_nwc"), 2: ("nn.conv2d_nchw", "nn.conv2d_nhwc"),
             3: ("nn.conv3d_ncdhw", "nn.conv3d_ndhwc")}  # fmt: skip
    grouped = {1: ("nn.group_conv1d_ncw", "nn.group_conv1d_nwc"),
               2: ("nn.group_conv2d_nchw", "nn.group_conv2d_nhwc"), 3: named[3]}  # fmt: skip
    for dims, (stride, pad, dilation, groups) in product((1, 2, 3), forms):
        form = (None, stride, pad, dilation, groups)
        rule = lambda x, w, o=form, f=CONV[dims]: f(x, w, *o)
        sizes = (7, 6, 5)[-dims:]
        for dtype in ("float32", "float16", "float64") if dims == 2 else ("float32",):
            x = floats(1, 4, *sizes, dtype=dtype)
            w = floats(6, 4 // groups, *(3,) * dims, dtype=dtype)
            options: dict[str, Any] = {"padding": pad, "dilation": dilation}
            options["strides" if dims == 1 else "stride"] = stride
            if groups > 1 or dims == 3:
                options["groups"] = groups
            near = TOLERANCE[dtype]
            first, last = (grouped if groups > 1 else named)[dims]
            cases.append(case(first, [x, w], by_torch(rule, dtype), tolerance=near,
                              symbolic=False, **options))  # fmt: skip
            turned = [np.moveaxis(x, 1, -1), w.transpose(*range(2, dims + 2), 1, 0)]
            cases.append(case(last, turned, by_torch(channels_last(rule), dtype), tolerance=near,
                              symbolic=False, out_dtype=dtype, **options))  # fmt: skip
    for padding, pad in (("SAME", 1), ("VALID", 0)):
        cases += [
            case("nn.conv2d", [floats(1, 3, 7, 6), floats(4, 3, 3, 3)], symbolic=False,
                 wanted=by_torch(lambda x, w, p=pad: F.conv2d(x, w, None, 1, p)), tolerance=1e-4,
                 strides=1, padding=padding, dilation=1),
            case("nn.conv1d", [floats(1, 3, 7), floats(4, 3, 3)], symbolic=False, tolerance=1e-4,
                 wanted=by_torch(lambda x, w, p=pad: F.conv1d(x, w, None, 1, p)), padding=padding),
        ]  # fmt: skip
    cases += [
        case("nn.conv2d_nchw", [floats(1, 3, 7, 6), floats(4, 3, 3, 3)], symbolic=False,
             wanted=by_torch(lambda x, w: F.conv2d(F.pad(x, (2, 0, 1, 3)), w)), tolerance=1e-4,
             stride=1, padding=(1, 2, 3, 0), dilation=1),
        case("nn.conv2d_nchw", [ints(1, 3, 5, 5, dtype="int8"), ints(4, 3, 3, 3, dtype="int8")],
             symbolic=False, stride=1, padding=0, dilation=1, out_dtype="int32",
             wanted=by_torch(lambda x, w: F.conv2d(x.double(), w.double()), "int32")),
        case("nn.conv2d_hwcn", [floats(7, 6, 3, 2), floats(3, 3, 3, 4)], symbolic=False,
             wanted=by_torch(lambda x, w: F.conv2d(
                 x.permute(3, 2, 0, 1), w.permute(3, 2, 0, 1), padding=1).permute(2, 3, 1, 0)),
             tolerance=1e-4, stride=1, padding=1, dilation=1),
    ]  # fmt: skip
    return cases


def depthwise_and_transposed() -> list[Case]:
    cases = []
    for stride, pad, dilation in ((1, 0, 1), (2, 1, 1), (1, 2, 2)):
        own = (None, stride, pad, dilation, 4)
        first = lambda x, w, o=own: F.conv2d(x, w.reshape(8, 1, 3, 3), *o)
        last = lambda x, w, f=first: f(x.permute(0, 3, 1, 2), w.permute(2, 3, 0, 1)).permute(
            0, 2, 3, 1
        )
        options = {"stride": stride, "padding": pad, "dilation": dilation}
        cases += [
            case("nn.depthwise_conv2d_nchw", [floats(1, 4, 7, 6), floats(4, 2, 3, 3)],
                 by_torch(first), tolerance=1e-4, symbolic=False, **options),
            case("nn.depthwise_conv2d_nhwc", [floats(1, 7, 6, 4), floats(3, 3, 4, 2)],
                 by_torch(last), tolerance=1e-4, symbolic=False, **options),
        ]  # fmt: skip
    named = {1: "nn.conv1d_transpose_ncw", 2: "nn.conv2d_transpose_nchw",
             3: "nn.conv3d_transpose_ncdhw"}  # fmt: skip
    grouped = {k: name.replace("nn.", "nn.group_") for k, name in named.items()}
    for dims, (stride, pad, extra), groups in product(
        (1, 2, 3), ((1, 0, 0), (2, 1, 1), (3, 0, 2)), (1, 2)
    ):
        form = (None, stride, pad, extra, groups)
        rule = lambda x, w, o=form, f=CONV_TRANSPOSE[dims]: f(x, w, *o)
        strides = "stride" if dims == 1 or groups > 1 else "strides"
        if dims == 3:
            strides = "strides"
        options: dict[str, Any] = {
            strides: (stride,) * dims, "padding": (pad,) * dims, "out_dtype": "float32",
            "output_padding": (extra,) * dims, **({"groups": groups} if groups > 1 else {}),
        }  # fmt: skip
        cases.append(
            case((grouped if groups > 1 else named)[dims],
                 [floats(1, 4, *(5, 4, 3)[:dims]), floats(4, 2, *(3,) * dims)], by_torch(rule),
                 tolerance=1e-4, symbolic=False, **options)
        )  # fmt: skip
    return cases


def dense_layers() -> list[Case]:
    cases = []
    for dtype, bias in product(("float32", "float16"), (False, True)):
        more = [floats(4, dtype=dtype)] if bias else []
        options = {"tolerance": TOLERANCE[dtype]}
        x, w = floats(3, 5, dtype=dtype), floats(4, 5, dtype=dtype)
        cases.append(case("nn.dense", [x, w, *more], lambda x, w, *b: x @ w.T + sum(b), **options))
        for first, second in product((False, True), repeat=2):
            a = floats(*((5, 3) if first else (3, 5)), dtype=dtype)
            b = floats(*((4, 5) if second else (5, 4)), dtype=dtype)
            flags = {"transpose_a": first, "transpose_b": second}
            cases.append(
                case("nn.matmul", [a, b, *more], lambda a, b, *c, f=first, s=second: (
                    a.T if f else a) @ (b.T if s else b) + sum(c), **options, **flags)
            )  # fmt: skip
            if not bias:
                cases.append(
                    case("nn.batch_matmul", [np.stack([a, a + 1]), b[None]],
                         lambda a, b, f=first, s=second: (a.swapaxes(1, 2) if f else a) @ (
                             b.swapaxes(1, 2) if s else b), **options, **flags)
                )  # fmt: skip
    whole = lambda x, w: x.astype("int32") @ w.astype("int32").swapaxes(-1, -2)
    cases += [
        case("nn.dense", [ints(3, 5, dtype="int8"), ints(4, 5, dtype="int8")], whole,
             out_dtype="int32"),
        case("nn.batch_matmul", [ints(2, 3, 5, dtype="int8"), ints(2, 4, 5, dtype="int8")], whole,
             out_dtype="int32"),
        case("nn.dense_pack", [floats(3, 5), floats(2, 5, 4)], tolerance=1e-4,
             wanted=lambda x, w: x @ w.transpose(1, 0, 2).reshape(5, 8)),
    ]  # fmt: skip
    return cases


def activations() -> list[Case]:
    cases = []
    for dtype in ("float32", "float16", "int32", "int8"):
        x = ints(2, 3, 4, dtype=dtype)
        cases.append(case("nn.relu", [x], lambda a: np.maximum(a, 0)))
    for dtype in ("float32", "float16"):
        x = floats(2, 3, 4, dtype=dtype)
        cases.append(case("nn.leaky_relu", [x], alpha=0.1, wanted=lambda a: np.where(
            a > 0, a, a * a.dtype.type(0.1))))  # fmt: skip
        for beta, limit in ((1.0, 20.0), (2.0, 1.0)):
            cases.append(
                case("nn.softplus", [x], by_torch(lambda a, b=beta, t=limit: F.softplus(a, b, t),
                                                  dtype), beta=beta, threshold=limit)
            )  # fmt: skip
        for axis in (0, 1, 2):
            shape = [-1 if k == axis else 1 for k in range(3)]
            cases.append(
                case("nn.prelu", [x, floats(x.shape[axis], dtype=dtype)], axis=axis,
                     wanted=lambda a, s, k=shape: np.where(a > 0, a, a * s.reshape(k)))
            )  # fmt: skip
        for axis in (-1, 0, 1):
            soft = lambda a, k=axis: scipy.special.softmax(a.astype("float64"), k).astype(a.dtype)
            log = lambda a, k=axis: scipy.special.log_softmax(a.astype("float64"), k).astype(
                a.dtype
            )
            near = 1e-4 if dtype == "float32" else None
            cases += [
                case("nn.softmax", [x], soft, tolerance=near, axis=axis),
                case("nn.fast_softmax", [x], soft, tolerance=near, axis=axis),
                case("nn.log_softmax", [x], log, tolerance=near, axis=axis),
            ]
    return cases


def normalisations() -> list[Case]:
    cases = []
    for dtype in ("float32", "float16"):
        near = {"float32": 1e-4, "float16": 2e-2}[dtype]
        x, row = floats(2, 3, 4, dtype=dtype), floats(4, dtype=dtype)
        picture, channel = floats(2, 6, 4, 5, dtype=dtype), floats(6, dtype=dtype)
        plane = floats(3, 4, dtype=dtype)
        cases += [
            case("nn.layer_norm", [x, row, row + 1], tolerance=near, axis=[-1],
                 wanted=by_torch(lambda x, g, b: F.layer_norm(x, (4,), g, b), dtype)),
            case("nn.layer_norm", [x, plane, plane + 1], tolerance=near, axis=[1, 2],
                 wanted=by_torch(lambda x, g, b: F.layer_norm(x, (3, 4), g, b), dtype)),
            case("nn.rms_norm", [x, row], tolerance=near, axis=[2],
                 wanted=by_torch(lambda x, g: F.rms_norm(x, (4,), g, 1e-5), dtype)),
            case("nn.group_norm", [picture, channel, channel + 1], tolerance=near, symbolic=False,
                 num_groups=3, channel_axis=1, axes=[2, 3],
                 wanted=by_torch(lambda x, g, b: F.group_norm(x, 3, g, b), dtype)),
            case("nn.instance_norm", [picture, channel, channel + 1], tolerance=near,
                 channel_axis=1, axis=[2, 3],
                 wanted=by_torch(lambda x, g, b: F.instance_norm(x, None, None, g, b), dtype)),
        ]  # fmt: skip
    x, c = floats(2, 3, 4, 4), floats(3)
    for training in (False, True):
        cases.append(
            case("nn.batch_norm", [x, c, c + 1, c, c * c + 0.5], tolerance=1e-4, axis=1,
                 training=training, wanted=lambda *a, t=training: topi.testing.batch_norm(
                     *a, 1, 1e-5, True, True, t, 0.1))
        )  # fmt: skip
    cases += [
        case("nn.lrn", [floats(2, 7, 4, 4)], tolerance=1e-4, size=5,
             wanted=by_torch(lambda x: F.local_response_norm(x, 5, 1e-4, 0.75, 2))),
        case("nn.lrn", [floats(2, 4, 4, 7)], tolerance=1e-4, size=3, axis=3, alpha=0.3, beta=0.5,
             bias=1, wanted=by_torch(lambda x: F.local_response_norm(
                 x.permute(0, 3, 1, 2), 3, 0.3, 0.5, 1).permute(0, 2, 3, 1))),
    ]  # fmt: skip
    for how, shape in product(("mean", "sum", "none"), ((5, 4), (3, 4, 2))):
        rule = lambda x, y, w, r=how: F.nll_loss(x, y.long(), w, reduction=r, ignore_index=1)
        cases.append(
            case("nn.nll_loss", [floats(*shape), ints(shape[0], *shape[2:], low=0, high=4),
                                 floats(4, low=0.5)],
                 by_torch(rule), tolerance=1e-4, symbolic=False, reduction=how, ignore_index=1)
        )  # fmt: skip
    return cases


def rearrangements() -> list[Case]:
    cases = []
    for dtype in ("float32", "int8", "bool", "float16"):
        x = numbers(3, 4, dtype=dtype)
        cases.append(
            case("nn.pad", [x], lambda a: np.pad(a, ((1, 0), (2, 3)), constant_values=1),
                 pad_before=(1, 2), pad_after=(0, 3), pad_value=1)
        )  # fmt: skip
    x = floats(4, 5)
    both = {"pad_before": (1, 2), "pad_after": (2, 1)}
    for name, mode in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        cases.append(case(f"nn.{name}_pad", [x],
                          lambda a, m=mode: np.pad(a, ((1, 2), (2, 1)), m), **both))  # fmt: skip
    for mode in ("SYMMETRIC", "REFLECT"):
        cases.append(case("nn.mirror_pad", [x], mode=mode, **both, wanted=lambda a, m=mode: np.pad(
            a, ((1, 2), (2, 1)), m.lower())))  # fmt: skip
    shuffled = by_torch(lambda x: F.pixel_shuffle(x, 2))
    cases += [
        case("nn.dilate", [x], lambda a: topi.testing.dilate_python(a, (2, 3)), strides=(2, 3)),
        case("nn.flatten", [floats(2, 3, 4)], lambda a: a.reshape(2, -1)),
        case("nn.fifo_buffer", [floats(2, 1, 3), floats(2, 4, 3)], axis=1,
             wanted=lambda d, b: np.concatenate([b[:, 1:], d], 1)),
        case("nn.pixel_shuffle", [floats(1, 8, 2, 3)], shuffled, upscale_factor=2),
        case("nn.depth_to_space", [floats(1, 8, 2, 3)], shuffled, block_size=2, mode="CRD"),
        case("nn.depth_to_space", [floats(1, 8, 2, 3)], block_size=2,
             wanted=lambda a: topi.testing.depth_to_space_python(a, 2)),
        case("nn.space_to_depth", [floats(1, 4, 6, 2)], block_size=2, layout="NHWC",
             wanted=lambda a: topi.testing.space_to_depth_python(
                 a.transpose(0, 3, 1, 2), 2).transpose(0, 2, 3, 1)),
        case("nn.space_to_batch_nd", [floats(2, 4, 6, 3)], symbolic=False, block_shape=[2, 2],
             pad_before=[0, 1], pad_after=[2, 1], pad_value=3.0,
             wanted=lambda a: topi.testing.space_to_batch_nd_python(
                 a, [2, 2], [0, 1], [2, 1], 3.0)),
        case("nn.batch_to_space_nd", [floats(4, 2, 3, 1)], symbolic=False, block_shape=[2, 2],
             crop_begin_list=[0, 1], crop_end_list=[1, 0],
             wanted=lambda a: topi.testing.batch_to_space_nd_python(a, [2, 2], [0, 1], [1, 0])),
        case("nn.scale_shift_nchw", [floats(1, 3, 4, 3), floats(3), floats(3) + 1],
             lambda x, s, h: x * s[:, None, None] + h[:, None, None]),
        case("nn.scale_shift_nhwc", [floats(1, 4, 3, 3), floats(3), floats(3) + 1],
             lambda x, s, h: x * s + h),
    ]  # fmt: skip
    return cases


def pools() -> list[Case]:
    cases = []
    windows = (((2, 2), (2, 2), (1, 1), (0, 0, 0, 0)), ((3, 2), (1, 2), (1, 1), (1, 0, 1, 1)),
               ((2, 2), (1, 1), (2, 2), (1, 1, 1, 1)))  # fmt: skip
    x = floats(1, 2, 7, 6)
    flags = (False, True)
    for kind, sizes, ceil, counted in product(("max", "avg"), windows, flags, flags):
        kernel, stride, dilation, pads = sizes
        wanted = lambda a, s=sizes, k=kind, c=ceil, p=counted: topi.testing.poolnd_python(
            a, *s[:3], s[3][:2], s[3][2:], k, p, c
        )
        options: dict[str, Any] = {
            "kernel": kernel, "stride": stride, "dilation": dilation, "padding": pads,
            "pool_type": kind, "ceil_mode": ceil, "count_include_pad": counted,
        }  # fmt: skip
        cases += [
            case("nn.pool2d", [x], wanted, tolerance=1e-4, **options),
            case("nn.pool2d", [np.moveaxis(x, 1, -1)], tolerance=1e-4, layout="NHWC",
                 symbolic=False, **options,
                 wanted=lambda a, w=wanted: np.moveaxis(w(np.moveaxis(a, -1, 1)), 1, -1)),
        ]  # fmt: skip
    adaptive: dict[str, Any] = {
        "max": (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d),
        "avg": (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d),
    }
    for kind, over in (("max", np.max), ("avg", np.mean)):
        for dims, name in ((1, "adaptive_pool1d"), (2, "adaptive_pool"), (3, "adaptive_pool3d")):
            sizes = (3, 2, 3)[:dims]
            rule = lambda a, f=adaptive[kind][dims - 1], s=sizes: f(a, s)
            cases.append(
                case(f"nn.{name}", [floats(1, 2, *(7, 5, 4)[:dims])], by_torch(rule),
                     tolerance=1e-4, output_size=sizes, pool_type=kind)
            )  # fmt: skip
        one = ([3], [2], [1], [1], [0])
        deep = ([3, 2, 2], [2, 2, 1], [1, 1, 1], [1, 0, 0], [0, 1, 1])
        names = ("kernel", "stride", "dilation")
        cases += [
            case("nn.global_pool", [x], lambda a, f=over: f(a, (2, 3), keepdims=True),
                 tolerance=1e-4, pool_type=kind),
            case("nn.pool1d", [floats(1, 2, 9)], tolerance=1e-4, padding=[1, 0], pool_type=kind,
                 **dict(zip(names, one)),
                 wanted=lambda a, k=kind, w=one: topi.testing.poolnd_python(a, *w, k, True, False)),
            case("nn.pool3d", [floats(1, 2, 5, 6, 4)], tolerance=1e-4, pool_type=kind,
                 padding=[1, 0, 0, 0, 1, 1], ceil_mode=True, count_include_pad=False,
                 **dict(zip(names, deep)),
                 wanted=lambda a, k=kind, w=deep: topi.testing.poolnd_python(
                     a, *w, k, False, True)),
            case("nn.pool_grad", [floats(1, 2, 4, 3), x], tolerance=1e-4, symbolic=False,
                 kernel=[3, 3], stride=[2, 2], padding=[1, 1, 1, 1], pool_type=kind,
                 wanted=lambda g, a, k=kind: topi.testing.pool_grad_nchw(
                     a, g, (3, 3), (2, 2), [1, 1, 1, 1], k, False)),
        ]  # fmt: skip
    return cases


CASES = [*convolutions(), *depthwise_and_transposed(), *dense_layers(), *activations(),
         *normalisations(), *rearrangements(), *pools()]  # fmt: skip
