"""Functions of tensors with the options of a call, operator by operator.

    wrap_compute_topk(topi.topk)(attrs, inputs, out_type)  ->  [values, indices]

Each takes a function of `tvm.topi` and gives one of a strategy, which hands on the operands and
the options in the order that the function has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tir
from tvm.relay.op.declare import topi
from tvm.relay.ty import TensorType

Compute = Callable[..., Any]
Options = Callable[[Any, Sequence[Any], Any], Sequence[Any]]


def listed(made: Any) -> list[Any]:
    """Several tensors, or one, as a list."""
    return list(made) if isinstance(made, (list, tuple)) else [made]


def ints(values: Any) -> list[int]:
    """Numbers of an option."""
    return [int(value) for value in values]


def out_dtype(attrs: Any, inputs: Sequence[Any]) -> str:
    """The type of a result: the option, else that of the first operand."""
    return str(attrs.out_dtype or inputs[0].dtype)


def _wrapper(name: str, options: Options, operands: int | None = None) -> Callable[[Compute], Any]:
    """`wrap(f)`: f of so many operands (None: all), then the options."""

    def wrap(topi_compute: Compute) -> Compute:
        def compute(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
            return listed(topi_compute(*inputs[:operands], *options(attrs, inputs, out_type)))

        return compute

    wrap.__name__ = wrap.__qualname__ = name
    wrap.__doc__ = f"`{name.removeprefix('wrap_compute_')}` of a call: operands, then options."
    return wrap


def _fields(*names: str) -> Options:
    """Options as they are."""
    return lambda attrs, inputs, out_type: [getattr(attrs, name) for name in names]


def copy_if_identical(tensor_a: te.Tensor, tensor_b: te.Tensor) -> te.Tensor:
    """The second tensor, as a copy where both are one."""
    return te.compute(tensor_b.shape, lambda *i: tensor_b(*i)) if tensor_a is tensor_b else tensor_b


wrap_compute_deformable_conv2d = _wrapper(
    "wrap_compute_deformable_conv2d",
    lambda attrs, inputs, out_type: [
        ints(attrs.strides), ints(attrs.padding), ints(attrs.dilation),
        int(attrs.deformable_groups), int(attrs.groups), out_dtype(attrs, inputs),
    ],
)  # fmt: skip


def wrap_compute_dilation2d(topi_compute: Compute, need_data_layout: bool = False) -> Compute:
    """`topi_compute(data, weight, strides, padding, dilations[, data_layout], out_dtype)`."""

    def options(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
        layout = [attrs.data_layout] if need_data_layout else []
        sizes = [ints(attrs.strides), ints(attrs.padding), ints(attrs.dilations)]
        return [*sizes, *layout, out_dtype(attrs, inputs)]

    compute: Compute = _wrapper("wrap_compute_dilation2d", options, 2)(topi_compute)
    return compute


wrap_compute_batch_norm = _wrapper(
    "wrap_compute_batch_norm",
    lambda attrs, inputs, out_type: [
        int(attrs.axis), float(attrs.epsilon), bool(attrs.center), bool(attrs.scale), False,
    ],
)  # fmt: skip
wrap_compute_sparse_dense = _wrapper("wrap_compute_sparse_dense", _fields("sparse_lhs"))
wrap_compute_sparse_add = _wrapper("wrap_compute_sparse_add", _fields())
wrap_compute_sparse_conv2d = _wrapper(
    "wrap_compute_sparse_conv2d", _fields("layout", "kernel_size")
)
wrap_compute_topk = _wrapper(
    "wrap_compute_topk",
    lambda attrs, inputs, out_type: [
        inputs[1] if attrs.k is None else int(attrs.k), int(attrs.axis), attrs.ret_type,
        bool(attrs.is_ascend), attrs.dtype,
    ],
    1,
)  # fmt: skip
wrap_compute_searchsorted = _wrapper("wrap_compute_searchsorted", _fields("right", "dtype"))
wrap_compute_multibox_prior = _wrapper(
    "wrap_compute_multibox_prior", _fields("sizes", "ratios", "steps", "offsets", "clip")
)
wrap_compute_multibox_transform_loc = _wrapper(
    "wrap_compute_multibox_transform_loc",
    _fields("clip", "threshold", "variances", "keep_background"),
)
wrap_compute_get_valid_counts = _wrapper(
    "wrap_compute_get_valid_counts", _fields("id_index", "score_index")
)
wrap_compute_nms = _wrapper(
    "wrap_compute_nms",
    _fields("force_suppress", "top_k", "coord_start", "score_index", "id_index", "return_indices",
            "invalid_to_bottom"),
)  # fmt: skip
wrap_compute_all_class_nms = _wrapper("wrap_compute_all_class_nms", _fields("output_format"))
wrap_compute_regular_nms = _wrapper(
    "wrap_compute_regular_nms",
    _fields("max_detections_per_class", "max_detections", "num_classes", "iou_threshold",
            "score_threshold"),
)  # fmt: skip


def wrap_compute_roi_align(topi_compute: Compute) -> Compute:
    """`topi_compute(data, rois, pooled_size=, spatial_scale=, sample_ratio=, mode=)`."""
    return lambda attrs, inputs, out_type: listed(
        topi_compute(
            *inputs, pooled_size=ints(attrs.pooled_size), spatial_scale=attrs.spatial_scale,
            sample_ratio=int(attrs.sample_ratio), mode=attrs.mode,
        )
    )  # fmt: skip


def _shapes(count: int) -> Options:
    """The shapes of the first results."""
    return lambda attrs, inputs, out_type: [out_type.fields[k].shape for k in range(count)]


wrap_compute_sparse_fill_empty_rows = _wrapper("wrap_compute_sparse_fill_empty_rows", _shapes(3))
wrap_compute_sparse_reshape = _wrapper("wrap_compute_sparse_reshape", _shapes(2))


def wrap_compute_stft(topi_compute: Compute) -> Compute:
    """`topi_compute(data, n_fft, hop_length, win_length, window, normalized, onesided, shape)`."""
    return lambda attrs, inputs, out_type: listed(
        topi_compute(
            inputs[0], attrs.n_fft, attrs.hop_length, attrs.win_length, inputs[1],
            attrs.normalized, attrs.onesided, out_type.shape,
        )
    )  # fmt: skip


wrap_compute_dft = _wrapper("wrap_compute_dft", _fields("inverse"))
wrap_compute_trilu = _wrapper("wrap_compute_trilu", _fields("upper"))
wrap_compute_proposal = _wrapper(
    "wrap_compute_proposal",
    _fields("scales", "ratios", "feature_stride", "threshold", "rpn_pre_nms_top_n",
            "rpn_post_nms_top_n", "rpn_min_size", "iou_loss"),
)  # fmt: skip
wrap_compute_scatter_elements = _wrapper(
    "wrap_compute_scatter_elements", _fields("axis", "reduction")
)
wrap_compute_scatter_nd = _wrapper("wrap_compute_scatter_nd", _fields("mode"))
wrap_compute_bitserial_conv2d = _wrapper(
    "wrap_compute_bitserial_conv2d",
    _fields("strides", "padding", "activation_bits", "weight_bits", "pack_dtype", "out_dtype",
            "unipolar"),
)  # fmt: skip
wrap_compute_bitserial_dense = _wrapper(
    "wrap_compute_bitserial_dense",
    _fields("data_bits", "weight_bits", "pack_dtype", "out_dtype", "unipolar"),
)
wrap_compute_correlation = _wrapper(
    "wrap_compute_correlation",
    _fields("kernel_size", "max_displacement", "stride1", "stride2", "padding", "is_multiply"),
)


def wrap_compute_argwhere(topi_compute: Compute) -> Compute:
    """`topi_compute(type of the result, condition)`; its open extents are variables."""

    def compute(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
        shape = [
            e if isinstance(e, (int, tir.IntImm)) else te.var("any_dim", "int32")
            for e in out_type.shape
        ]
        return listed(topi_compute(TensorType(shape, "int32"), inputs[0]))

    return compute


wrap_compute_threefry_generate = _wrapper("wrap_compute_threefry_generate", _fields("out_shape"))
wrap_compute_threefry_split = _wrapper("wrap_compute_threefry_split", _fields())
wrap_compute_uniform = _wrapper("wrap_compute_uniform", _fields("out_shape", "out_dtype"))
wrap_compute_multinomial = _wrapper("wrap_compute_multinomial", _fields("num_samples"))


def wrap_compute_sliding_window() -> Compute:
    """`topi.sliding_window` as a function of a strategy."""
    compute: Compute = _wrapper(
        "wrap_compute_sliding_window", _fields("axis", "window_shape", "strides")
    )(topi.sliding_window)
    return compute


wrap_compute_unique = _wrapper("wrap_compute_unique", _fields("sorted", "return_counts"))
wrap_compute_invert_permutation = _wrapper("wrap_compute_invert_permutation", _fields())


def wrap_compute_einsum(topi_compute: Compute) -> Compute:
    """`topi_compute(equation, *operands)`."""
    return lambda attrs, inputs, out_type: listed(topi_compute(attrs.equation, *inputs))


wrap_compute_conv2d_backward_weight = _wrapper(
    "wrap_compute_conv2d_backward_weight",
    lambda attrs, inputs, out_type: [
        ints(attrs.kernel_size), ints(attrs.padding), ints(attrs.strides), ints(attrs.dilation),
        int(attrs.groups), attrs.data_layout, out_dtype(attrs, inputs),
    ],
)  # fmt: skip


def wrap_compute_layout_transform(topi_compute: Compute, schedule_rule: str = "None") -> Compute:
    """`topi_compute(data, src_layout, dst_layout, schedule_rule)`."""
    return lambda attrs, inputs, out_type: listed(
        topi_compute(inputs[0], attrs.src_layout, attrs.dst_layout, schedule_rule)
    )
