"""Strategies by the names that scripts know; targets may register their own.

    @conv2d_strategy.register("mine")           # for targets with the key "mine"
    def conv2d_strategy_mine(attrs, inputs, out_type, target):
        strategy = relay.op.OpStrategy()
        strategy.add_implementation(wrap_compute_conv2d(topi.nn.conv2d_nchw),
                                    wrap_topi_schedule(schedule), name="conv2d_nchw.mine")
        return strategy

An operator of Relay has one meaning for all targets, and rules schedule its kernels
(`tvm.dlight`): its own strategy has one way, `compute` gives tensors that are made by its kernel.
Schedule functions give their tensors as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from tvm.ir.op import Op
from tvm.relay.op.declare import COMM_REDUCE
from tvm.relay.op.strategies import OpStrategy
from tvm.support.lazy import lazy_names
from tvm.target.generic_func import generic_func, override_native_generic_func

from .computes import Compute, ints, listed, out_dtype
from .computes import copy_if_identical as copy_if_identical
from .computes import wrap_compute_all_class_nms as wrap_compute_all_class_nms
from .computes import wrap_compute_argwhere as wrap_compute_argwhere
from .computes import wrap_compute_batch_norm as wrap_compute_batch_norm
from .computes import wrap_compute_bitserial_conv2d as wrap_compute_bitserial_conv2d
from .computes import wrap_compute_bitserial_dense as wrap_compute_bitserial_dense
from .computes import wrap_compute_conv2d_backward_weight as wrap_compute_conv2d_backward_weight
from .computes import wrap_compute_correlation as wrap_compute_correlation
from .computes import wrap_compute_deformable_conv2d as wrap_compute_deformable_conv2d
from .computes import wrap_compute_dft as wrap_compute_dft
from .computes import wrap_compute_dilation2d as wrap_compute_dilation2d
from .computes import wrap_compute_einsum as wrap_compute_einsum
from .computes import wrap_compute_get_valid_counts as wrap_compute_get_valid_counts
from .computes import wrap_compute_invert_permutation as wrap_compute_invert_permutation
from .computes import wrap_compute_layout_transform as wrap_compute_layout_transform
from .computes import wrap_compute_multibox_prior as wrap_compute_multibox_prior
from .computes import wrap_compute_multibox_transform_loc as wrap_compute_multibox_transform_loc
from .computes import wrap_compute_multinomial as wrap_compute_multinomial
from .computes import wrap_compute_nms as wrap_compute_nms
from .computes import wrap_compute_proposal as wrap_compute_proposal
from .computes import wrap_compute_regular_nms as wrap_compute_regular_nms
from .computes import wrap_compute_roi_align as wrap_compute_roi_align
from .computes import wrap_compute_scatter_elements as wrap_compute_scatter_elements
from .computes import wrap_compute_scatter_nd as wrap_compute_scatter_nd
from .computes import wrap_compute_searchsorted as wrap_compute_searchsorted
from .computes import wrap_compute_sliding_window as wrap_compute_sliding_window
from .computes import wrap_compute_sparse_add as wrap_compute_sparse_add
from .computes import wrap_compute_sparse_conv2d as wrap_compute_sparse_conv2d
from .computes import wrap_compute_sparse_dense as wrap_compute_sparse_dense
from .computes import wrap_compute_sparse_fill_empty_rows as wrap_compute_sparse_fill_empty_rows
from .computes import wrap_compute_sparse_reshape as wrap_compute_sparse_reshape
from .computes import wrap_compute_stft as wrap_compute_stft
from .computes import wrap_compute_threefry_generate as wrap_compute_threefry_generate
from .computes import wrap_compute_threefry_split as wrap_compute_threefry_split
from .computes import wrap_compute_topk as wrap_compute_topk
from .computes import wrap_compute_trilu as wrap_compute_trilu
from .computes import wrap_compute_uniform as wrap_compute_uniform
from .computes import wrap_compute_unique as wrap_compute_unique
from .ways import BEST, Ways, group_way, ways_of


def naive_schedule(_: Any, outs: Any, target: Any) -> Any:
    """The tensors as they are: rules schedule their kernels."""
    return outs


def wrap_topi_schedule(topi_schedule: Callable[[Any], Any]) -> Compute:
    """A schedule function of tensors as one of a strategy."""

    def wrapper(attrs: Any, outs: Any, target: Any) -> Any:
        with target:
            return topi_schedule(outs)

    return wrapper


def wrap_topi_compute(topi_compute: Compute) -> Compute:
    """A function of tensors as one of a strategy."""

    def wrapper(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
        return listed(topi_compute(*inputs))

    return wrapper


def _along(layout: str, shape: Sequence[Any], letter: str) -> int:
    """An extent of a layout; that of its blocks counts."""
    upper = "".join(s for s in layout if s.isalpha())
    positions = [at for at, s in enumerate(upper) if s.upper() == letter]
    found = 1
    for at in positions:
        found *= int(shape[at])
    return found


def get_conv2d_in_channels(data_shape: Sequence[Any], data_layout: str) -> int:
    """The channels of a convolution's data."""
    return _along(data_layout, data_shape, "C")


def get_conv2d_out_channels(kernel_shape: Sequence[Any], kernel_layout: str) -> int:
    """The filters of a convolution's weight."""
    return _along(kernel_layout, kernel_shape, "O")


def is_depthwise_conv2d(
    data_shape: Sequence[Any], data_layout: str, kernel_shape: Sequence[Any], kernel_layout: str,
    groups: int,
) -> bool:  # fmt: skip
    """Whether each channel has one filter, and no other channel's."""
    channels = get_conv2d_in_channels(data_shape, data_layout)
    filters = get_conv2d_out_channels(kernel_shape, kernel_layout)
    return channels == filters == groups > 1


def _schedule(name: str) -> Any:
    def keep(attrs: Any, outs: Any, target: Any) -> Any:
        return outs

    keep.__name__ = keep.__qualname__ = name
    keep.__doc__ = "The tensors as they are: rules schedule their kernels."
    return generic_func(keep)


schedule_injective = _schedule("schedule_injective")
schedule_reduce = _schedule("schedule_reduce")
schedule_concatenate = _schedule("schedule_concatenate")
schedule_pool = _schedule("schedule_pool")
schedule_pool_grad = _schedule("schedule_pool_grad")
schedule_adaptive_pool = _schedule("schedule_adaptive_pool")
schedule_lrn = _schedule("schedule_lrn")
schedule_pad = _schedule("schedule_pad")
schedule_bitpack = _schedule("schedule_bitpack")
schedule_bitserial_dense = _schedule("schedule_bitserial_dense")
schedule_conv2d_gemm_weight_transform = _schedule("schedule_conv2d_gemm_weight_transform")
schedule_conv2d_winograd_nnpack_weight_transform = _schedule(
    "schedule_conv2d_winograd_nnpack_weight_transform"
)
schedule_conv2d_winograd_weight_transform = _schedule("schedule_conv2d_winograd_weight_transform")
schedule_conv3d_winograd_weight_transform = _schedule("schedule_conv3d_winograd_weight_transform")
schedule_dense = _schedule("schedule_dense")
schedule_roi_pool = _schedule("schedule_roi_pool")
schedule_sparse_transpose = _schedule("schedule_sparse_transpose")
schedule_transpose = _schedule("schedule_transpose")


# --- functions of tensors with the options of a call ---


def wrap_compute_softmax(topi_compute: Compute) -> Compute:
    """`topi_compute(x, axis)`."""
    return lambda attrs, inputs, out_type: [topi_compute(inputs[0], int(attrs.axis))]


def wrap_compute_conv2d(
    topi_compute: Compute, *, need_data_layout: bool = False, need_kernel_layout: bool = False,
    need_out_layout: bool = False, has_groups: bool = False,
    need_auto_scheduler_layout: bool = False, need_meta_schedule_layout: bool = False,
) -> Compute:  # fmt: skip
    """`topi_compute(data, weight, strides, padding, dilation, ..., out_dtype)`.

    Between those come groups and layouts, where they are needed.
    """

    def compute(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
        args = [*inputs[:2], ints(attrs.strides), ints(attrs.padding), ints(attrs.dilation)]
        if has_groups:
            args.append(int(attrs.groups))
        if need_data_layout:
            args.append(attrs.data_layout)
        if need_kernel_layout:
            args.append(attrs.kernel_layout)
        if need_out_layout:
            args.append(attrs.out_layout or attrs.data_layout)
        return [topi_compute(*args, out_dtype(attrs, inputs))]

    return compute


def wrap_compute_conv1d(topi_compute: Compute) -> Compute:
    """`topi_compute(data, weight, stride, padding, dilation, out_dtype)`."""
    return wrap_compute_conv2d(topi_compute)


def wrap_compute_group_conv1d(topi_compute: Compute) -> Compute:
    """`topi_compute(data, weight, stride, padding, dilation, groups, out_dtype)`."""
    return wrap_compute_conv2d(topi_compute, has_groups=True)


def wrap_compute_conv3d(
    topi_compute: Compute, need_layout: bool = False, need_auto_scheduler_layout: bool = False,
    need_meta_schedule_layout: bool = False,
) -> Compute:  # fmt: skip
    """`topi_compute(data, weight, strides, padding, dilation, groups[, layout], out_dtype)`."""
    return wrap_compute_conv2d(topi_compute, has_groups=True, need_data_layout=need_layout)


def _transposed(topi_compute: Compute, has_groups: bool) -> Compute:
    def compute(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
        more = [int(attrs.groups)] if has_groups else []
        return [
            topi_compute(
                *inputs[:2], ints(attrs.strides), ints(attrs.padding),
                out_dtype(attrs, inputs), ints(attrs.output_padding), *more,
            )
        ]  # fmt: skip

    return compute


def wrap_compute_conv1d_transpose(topi_compute: Compute, has_groups: bool = False) -> Compute:
    """`topi_compute(data, weight, strides, padding, out_dtype, output_padding[, groups])`."""
    return _transposed(topi_compute, has_groups)


def wrap_compute_conv2d_transpose(
    topi_compute: Compute, has_groups: bool = False, add_layout: bool = False
) -> Compute:
    """As `wrap_compute_conv1d_transpose`."""
    return _transposed(topi_compute, has_groups)


def wrap_compute_conv3d_transpose(topi_compute: Compute, has_groups: bool = False) -> Compute:
    """As `wrap_compute_conv1d_transpose`."""
    return _transposed(topi_compute, has_groups)


def wrap_compute_dense(
    topi_compute: Compute, need_auto_scheduler_layout: bool = False,
    need_meta_schedule_layout: bool = False,
) -> Compute:  # fmt: skip
    """`topi_compute(data, weight, None, out_dtype)`."""
    return lambda attrs, inputs, out_type: [
        topi_compute(inputs[0], inputs[1], None, out_dtype(attrs, inputs))
    ]


def wrap_compute_matmul(
    topi_compute: Compute, need_auto_scheduler_layout: bool = False,
    need_meta_schedule_layout: bool = False,
) -> Compute:  # fmt: skip
    """`topi_compute(a, b, None, out_dtype, transpose_a, transpose_b)`."""
    return lambda attrs, inputs, out_type: [
        topi_compute(
            inputs[0], inputs[1], None, out_dtype(attrs, inputs), bool(attrs.transpose_a),
            bool(attrs.transpose_b),
        )
    ]  # fmt: skip


def wrap_compute_batch_matmul(
    topi_compute: Compute, *, need_auto_scheduler_layout: bool = False,
    need_meta_schedule_layout: bool = False, need_out_dtype: bool = False,
) -> Compute:  # fmt: skip
    """`topi_compute(a, b, shape of the result[, out_dtype, transpose_a, transpose_b])`."""

    def compute(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
        args = [inputs[0], inputs[1], list(out_type.shape)]
        if need_out_dtype:
            args.append(out_dtype(attrs, inputs))
            args += [bool(attrs.transpose_a), bool(attrs.transpose_b)]
        return [topi_compute(*args)]

    return compute


def wrap_compute_sort(topi_compute: Compute) -> Compute:
    """`topi_compute(x, axis=, is_ascend=)`."""
    return lambda attrs, inputs, out_type: [
        topi_compute(inputs[0], axis=int(attrs.axis), is_ascend=bool(attrs.is_ascend))
    ]


def wrap_compute_argsort(topi_compute: Compute) -> Compute:
    """`topi_compute(x, axis=, is_ascend=, dtype=)`."""
    return lambda attrs, inputs, out_type: [
        topi_compute(
            inputs[0], axis=int(attrs.axis), is_ascend=bool(attrs.is_ascend), dtype=attrs.dtype
        )
    ]


def wrap_compute_concat(topi_compute: Compute) -> Compute:
    """`topi_compute(tensors, axis)`."""
    return lambda attrs, inputs, out_type: [topi_compute(list(inputs), int(attrs.axis))]


def wrap_compute_scanop(topi_compute: Compute) -> Compute:
    """`topi_compute(x, axis, dtype, exclusive=)`."""
    return lambda attrs, inputs, out_type: [
        topi_compute(inputs[0], attrs.axis, attrs.dtype or None, exclusive=attrs.exclusive)
    ]


def names_of_target(
    module: str, suffix: str, names: Sequence[str], others: Mapping[str, str] | None = None,
    home: str = __name__,
) -> Callable[[str], Any]:  # fmt: skip
    """A module's `__getattr__` for NAME_SUFFIX: what NAME is here, which asks the target itself."""
    found = {f"{name}_{suffix}": name for name in names} | dict(others or {})
    return lazy_names(module, {name: f"{home}:{here}" for name, here in found.items()})


# --- the strategies ---


def by_meaning(op: Op) -> Compute:
    """The compute function of an operator of Relay: tensors that its kernel makes."""

    def compute(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
        from tvm.relay.backend.kernel_tensors import kernel_tensors  # it lowers to kernels

        return kernel_tensors(op, attrs, inputs)

    return compute


_KEYS: Final = {"arm_cpu": "arm_cpu", "cuda": "cuda", "rocm": "rocm", "cpu": "x86", "gpu": "gpu"}


def way_names(op: Op, attrs: Any, inputs: Sequence[Any], target: Any) -> Ways:
    """What an operator's own ways are called, with their levels."""
    listed_ways = ways_of(op, attrs, inputs, target)
    if listed_ways is not None:
        return listed_ways
    where = _for_whom(op, target)
    short = op.name.rpartition(".")[2]
    pattern = op.get_attr("TOpPattern")
    if isinstance(pattern, int) and pattern <= COMM_REDUCE:
        if op.name not in _NAMES:
            return [(group_way(pattern, target), BEST)]
        where = "cpu" if where == "x86" else where
    return [(f"{short}.{where}", BEST)]


def _for_whom(op: Op, target: Any) -> str:
    """The first of a target's keys whose module has the operator's strategy, if it has one."""
    keys = [str(key) for key in getattr(target, "keys", ())]
    known = [_KEYS[key] for key in keys if key in _KEYS]
    if op.name in _NAMES:
        known = [one for one in known if _NAMES[op.name] in _listed(one)]
    return next(iter(known), "generic")


def _listed(where: str) -> Sequence[str]:
    """The strategies of a target; all GPUs have those of CUDA."""
    name = "cuda" if where == "gpu" else where
    found: Sequence[str] = import_module(f"{__package__}.{name}")._NAMES
    return found


def own_strategy(op: Op, attrs: Any, inputs: Sequence[Any], target: Any) -> OpStrategy:
    """The ways of an operator of Relay: one meaning by the names that a target knows."""
    made = OpStrategy()
    for name, level in way_names(op, attrs, inputs, target):
        made.add_implementation(by_meaning(op), naive_schedule, name=name, plevel=level)
    return made


STRATEGIES: Final[dict[str, Any]] = {}
"""The strategies below by the operators that they are of."""
_NAMES: Final[dict[str, str]] = {}
"""The names of those for operators of tensors, which targets list."""


def known_strategy(op: Op) -> Any:
    """The strategy of an operator that nobody gave another; None for what has no kernel."""
    if op.name in STRATEGIES:
        return STRATEGIES[op.name]
    if op.get_attr("FRelayLower") is None:
        return None
    return lambda attrs, inputs, out_type, target: own_strategy(op, attrs, inputs, target)


def strategy_of(name: str, op_name: str) -> Any:
    """A strategy with the operator's own way, which targets may replace."""

    def default(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        return own_strategy(Op.get(op_name), attrs, inputs, target)

    default.__name__ = default.__qualname__ = name
    default.__doc__ = f"The ways of `{op_name}`."
    made = override_native_generic_func(name)(default)
    STRATEGIES.setdefault(op_name, made)
    if not op_name.startswith("qnn."):
        _NAMES.setdefault(op_name, name)
    return made


all_class_nms_strategy = strategy_of(
    "all_class_nms_strategy", "vision.all_class_non_max_suppression"
)
argsort_strategy = strategy_of("argsort_strategy", "argsort")
argwhere_strategy = strategy_of("argwhere_strategy", "argwhere")
batch_matmul_strategy = strategy_of("batch_matmul_strategy", "nn.batch_matmul")
batch_norm_strategy = strategy_of("batch_norm_strategy", "nn.batch_norm")
bitserial_conv2d_strategy = strategy_of("bitserial_conv2d_strategy", "nn.bitserial_conv2d")
bitserial_dense_strategy = strategy_of("bitserial_dense_strategy", "nn.bitserial_dense")
concatenate_strategy = strategy_of("concatenate_strategy", "concatenate")
conv1d_strategy = strategy_of("conv1d_strategy", "nn.conv1d")
conv1d_transpose_strategy = strategy_of("conv1d_transpose_strategy", "nn.conv1d_transpose")
conv2d_strategy = strategy_of("conv2d_strategy", "nn.conv2d")
conv2d_NCHWc_strategy = strategy_of("conv2d_NCHWc_strategy", "nn.contrib_conv2d_NCHWc")
conv2d_backward_weight_strategy = strategy_of(
    "conv2d_backward_weight_strategy", "nn.conv2d_backward_weight"
)
conv2d_gemm_without_weight_transform_strategy = strategy_of(
    "conv2d_gemm_without_weight_transform_strategy",
    "nn.contrib_conv2d_gemm_without_weight_transform",
)
conv2d_transpose_strategy = strategy_of("conv2d_transpose_strategy", "nn.conv2d_transpose")
conv2d_winograd_without_weight_transform_strategy = strategy_of(
    "conv2d_winograd_without_weight_transform_strategy",
    "nn.contrib_conv2d_winograd_without_weight_transform",
)
conv3d_winograd_without_weight_transform_strategy = strategy_of(
    "conv3d_winograd_without_weight_transform_strategy",
    "nn.contrib_conv3d_winograd_without_weight_transform",
)
conv3d_strategy = strategy_of("conv3d_strategy", "nn.conv3d")
conv3d_transpose_strategy = strategy_of("conv3d_transpose_strategy", "nn.conv3d_transpose")
correlation_strategy = strategy_of("correlation_strategy", "nn.correlation")
cumprod_strategy = strategy_of("cumprod_strategy", "cumprod")
cumsum_strategy = strategy_of("cumsum_strategy", "cumsum")
deformable_conv2d_strategy = strategy_of("deformable_conv2d_strategy", "nn.deformable_conv2d")
dense_strategy = strategy_of("dense_strategy", "nn.dense")
dense_pack_strategy = strategy_of("dense_pack_strategy", "nn.contrib_dense_pack")
depthwise_conv2d_NCHWc_strategy = strategy_of(
    "depthwise_conv2d_NCHWc_strategy", "nn.contrib_depthwise_conv2d_NCHWc"
)
dft_strategy = strategy_of("dft_strategy", "dft")
dilation2d_strategy = strategy_of("dilation2d_strategy", "image.dilation2d")
einsum_strategy = strategy_of("einsum_strategy", "einsum")
fast_softmax_strategy = strategy_of("fast_softmax_strategy", "nn.fast_softmax")
group_conv1d_strategy = strategy_of("group_conv1d_strategy", "nn.conv1d")
get_valid_counts_strategy = strategy_of("get_valid_counts_strategy", "vision.get_valid_counts")
invert_permutation_strategy = strategy_of("invert_permutation_strategy", "invert_permutation")
layout_transform_strategy = strategy_of("layout_transform_strategy", "layout_transform")
log_softmax_strategy = strategy_of("log_softmax_strategy", "nn.log_softmax")
matmul_strategy = strategy_of("matmul_strategy", "nn.matmul")
multibox_prior_strategy = strategy_of("multibox_prior_strategy", "vision.multibox_prior")
multibox_transform_loc_strategy = strategy_of(
    "multibox_transform_loc_strategy", "vision.multibox_transform_loc"
)
nms_strategy = strategy_of("nms_strategy", "vision.non_max_suppression")
normal_strategy = strategy_of("normal_strategy", "random.normal")
proposal_strategy = strategy_of("proposal_strategy", "vision.proposal")
regular_nms_strategy = strategy_of("regular_nms_strategy", "vision.regular_non_max_suppression")
roi_align_strategy = strategy_of("roi_align_strategy", "vision.roi_align")
scatter_elements_strategy = strategy_of("scatter_elements_strategy", "scatter_elements")
scatter_nd_strategy = strategy_of("scatter_nd_strategy", "scatter_nd")
searchsorted_strategy = strategy_of("searchsorted_strategy", "searchsorted")
sliding_window_strategy = strategy_of("sliding_window_strategy", "sliding_window")
softmax_strategy = strategy_of("softmax_strategy", "nn.softmax")
sort_strategy = strategy_of("sort_strategy", "sort")
sparse_add_strategy = strategy_of("sparse_add_strategy", "nn.sparse_add")
sparse_conv2d_strategy = strategy_of("sparse_conv2d_strategy", "nn.sparse_conv2d")
sparse_dense_strategy = strategy_of("sparse_dense_strategy", "nn.sparse_dense")
sparse_fill_empty_rows_strategy = strategy_of(
    "sparse_fill_empty_rows_strategy", "sparse_fill_empty_rows"
)
sparse_reshape_strategy = strategy_of("sparse_reshape_strategy", "sparse_reshape")
stft_strategy = strategy_of("stft_strategy", "stft")
threefry_generate_strategy = strategy_of("threefry_generate_strategy", "random.threefry_generate")
threefry_split_strategy = strategy_of("threefry_split_strategy", "random.threefry_split")
topk_strategy = strategy_of("topk_strategy", "topk")
trilu_strategy = strategy_of("trilu_strategy", "trilu")
uniform_strategy = strategy_of("uniform_strategy", "random.uniform")
unique_strategy = strategy_of("unique_strategy", "unique")
