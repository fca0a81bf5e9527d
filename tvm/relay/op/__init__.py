"""Operators of Relay, one declaration each; importing this package declares them all."""

from . import annotation as annotation
from . import dynamic as dynamic
from . import gradients as gradients
from . import image as image
from . import kernel as kernel
from . import layout_alterations as layout_alterations
from . import layout_conversions as layout_conversions
from . import lowered as lowered
from . import memory as memory
from . import nn as nn
from . import non_computational as non_computational
from . import op as op
from . import op_attrs as op_attrs
from . import random as random
from . import shape_flags as shape_flags
from . import vision as vision
from . import vm as vm
from .algorithm import (
    argsort as argsort,
)
from .algorithm import (
    searchsorted as searchsorted,
)
from .algorithm import (
    sort as sort,
)
from .algorithm import (
    topk as topk,
)
from .op import Op as Op
from .op import OpImplementation as OpImplementation
from .op import (
    OpPattern as OpPattern,
)
from .op import OpSpecialization as OpSpecialization
from .op import OpStrategy as OpStrategy
from .op import debug as debug
from .op import (
    get as get,
)
from .op import (
    register as register,
)
from .op import (
    register_alter_op_layout as register_alter_op_layout,
)
from .op import register_broadcast_schedule as register_broadcast_schedule
from .op import register_compute as register_compute
from .op import (
    register_convert_op_layout as register_convert_op_layout,
)
from .op import (
    register_external_compiler as register_external_compiler,
)
from .op import register_fake_quantization_to_integer as register_fake_quantization_to_integer
from .op import (
    register_gradient as register_gradient,
)
from .op import register_infer_correct_layout as register_infer_correct_layout
from .op import register_injective_schedule as register_injective_schedule
from .op import (
    register_legalize as register_legalize,
)
from .op import (
    register_mixed_precision_conversion as register_mixed_precision_conversion,
)
from .op import (
    register_optional_fake_quantization_to_integer as register_optional_fake_quantization_to_integer,  # noqa: E501
)
from .op import (
    register_pattern as register_pattern,
)
from .op import register_reduce_schedule as register_reduce_schedule
from .op import register_schedule as register_schedule
from .op import register_shape_func as register_shape_func
from .op import (
    register_stateful as register_stateful,
)
from .op import register_strategy as register_strategy
from .reduce import (
    all as all,
)
from .reduce import (
    any as any,
)
from .reduce import (
    argmax as argmax,
)
from .reduce import (
    argmin as argmin,
)
from .reduce import (
    logsumexp as logsumexp,
)
from .reduce import (
    max as max,
)
from .reduce import (
    mean as mean,
)
from .reduce import (
    mean_std as mean_std,
)
from .reduce import (
    mean_variance as mean_variance,
)
from .reduce import (
    min as min,
)
from .reduce import (
    prod as prod,
)
from .reduce import (
    std as std,
)
from .reduce import (
    sum as sum,
)
from .reduce import (
    variance as variance,
)
from .tensor import (
    abs as abs,
)
from .tensor import (
    acos as acos,
)
from .tensor import (
    acosh as acosh,
)
from .tensor import (
    add as add,
)
from .tensor import (
    asin as asin,
)
from .tensor import (
    asinh as asinh,
)
from .tensor import (
    atan as atan,
)
from .tensor import (
    atanh as atanh,
)
from .tensor import (
    bitwise_and as bitwise_and,
)
from .tensor import (
    bitwise_not as bitwise_not,
)
from .tensor import (
    bitwise_or as bitwise_or,
)
from .tensor import (
    bitwise_xor as bitwise_xor,
)
from .tensor import (
    ceil as ceil,
)
from .tensor import (
    clip as clip,
)
from .tensor import (
    concatenate as concatenate,
)
from .tensor import (
    copy as copy,
)
from .tensor import (
    copy_shape_func as copy_shape_func,
)
from .tensor import (
    cos as cos,
)
from .tensor import (
    cosh as cosh,
)
from .tensor import (
    device_copy as device_copy,
)
from .tensor import (
    divide as divide,
)
from .tensor import (
    einsum as einsum,
)
from .tensor import (
    equal as equal,
)
from .tensor import (
    erf as erf,
)
from .tensor import (
    exp as exp,
)
from .tensor import fast_erf as fast_erf
from .tensor import fast_exp as fast_exp
from .tensor import fast_tanh as fast_tanh
from .tensor import (
    fixed_point_multiply as fixed_point_multiply,
)
from .tensor import (
    fixed_point_multiply_per_axis as fixed_point_multiply_per_axis,
)
from .tensor import (
    floor as floor,
)
from .tensor import (
    floor_divide as floor_divide,
)
from .tensor import (
    floor_mod as floor_mod,
)
from .tensor import (
    greater as greater,
)
from .tensor import (
    greater_equal as greater_equal,
)
from .tensor import (
    isfinite as isfinite,
)
from .tensor import (
    isinf as isinf,
)
from .tensor import (
    isnan as isnan,
)
from .tensor import (
    left_shift as left_shift,
)
from .tensor import (
    less as less,
)
from .tensor import (
    less_equal as less_equal,
)
from .tensor import (
    log as log,
)
from .tensor import (
    log2 as log2,
)
from .tensor import (
    log10 as log10,
)
from .tensor import (
    logical_and as logical_and,
)
from .tensor import (
    logical_not as logical_not,
)
from .tensor import (
    logical_or as logical_or,
)
from .tensor import (
    logical_xor as logical_xor,
)
from .tensor import (
    maximum as maximum,
)
from .tensor import (
    minimum as minimum,
)
from .tensor import (
    mod as mod,
)
from .tensor import (
    multiply as multiply,
)
from .tensor import (
    ndarray_size as ndarray_size,
)
from .tensor import (
    negative as negative,
)
from .tensor import (
    not_equal as not_equal,
)
from .tensor import (
    ones as ones,
)
from .tensor import (
    ones_like as ones_like,
)
from .tensor import (
    power as power,
)
from .tensor import (
    right_shift as right_shift,
)
from .tensor import (
    round as round,
)
from .tensor import (
    rsqrt as rsqrt,
)
from .tensor import (
    shape_of as shape_of,
)
from .tensor import (
    sigmoid as sigmoid,
)
from .tensor import (
    sign as sign,
)
from .tensor import (
    sin as sin,
)
from .tensor import (
    sinh as sinh,
)
from .tensor import (
    sqrt as sqrt,
)
from .tensor import (
    stack as stack,
)
from .tensor import (
    subtract as subtract,
)
from .tensor import (
    tan as tan,
)
from .tensor import (
    tanh as tanh,
)
from .tensor import (
    trunc as trunc,
)
from .tensor import (
    trunc_divide as trunc_divide,
)
from .tensor import (
    trunc_mod as trunc_mod,
)
from .tensor import (
    zeros as zeros,
)
from .tensor import (
    zeros_like as zeros_like,
)
from .transform import (
    adv_index as adv_index,
)
from .transform import (
    arange as arange,
)
from .transform import (
    argwhere as argwhere,
)
from .transform import (
    broadcast_to as broadcast_to,
)
from .transform import (
    broadcast_to_like as broadcast_to_like,
)
from .transform import (
    cast as cast,
)
from .transform import (
    cast_like as cast_like,
)
from .transform import (
    collapse_sum_like as collapse_sum_like,
)
from .transform import (
    collapse_sum_to as collapse_sum_to,
)
from .transform import (
    cumprod as cumprod,
)
from .transform import (
    cumsum as cumsum,
)
from .transform import (
    dft as dft,
)
from .transform import (
    expand_dims as expand_dims,
)
from .transform import (
    full as full,
)
from .transform import (
    full_like as full_like,
)
from .transform import (
    gather as gather,
)
from .transform import (
    gather_nd as gather_nd,
)
from .transform import (
    invert_permutation as invert_permutation,
)
from .transform import (
    layout_transform as layout_transform,
)
from .transform import (
    matrix_set_diag as matrix_set_diag,
)
from .transform import (
    meshgrid as meshgrid,
)
from .transform import (
    one_hot as one_hot,
)
from .transform import (
    reinterpret as reinterpret,
)
from .transform import (
    repeat as repeat,
)
from .transform import (
    reshape as reshape,
)
from .transform import (
    reshape_like as reshape_like,
)
from .transform import (
    reverse as reverse,
)
from .transform import (
    reverse_reshape as reverse_reshape,
)
from .transform import (
    reverse_sequence as reverse_sequence,
)
from .transform import (
    scatter_elements as scatter_elements,
)
from .transform import (
    scatter_nd as scatter_nd,
)
from .transform import (
    segment_sum as segment_sum,
)
from .transform import (
    sequence_mask as sequence_mask,
)
from .transform import (
    slice_like as slice_like,
)
from .transform import (
    sliding_window as sliding_window,
)
from .transform import (
    sparse_fill_empty_rows as sparse_fill_empty_rows,
)
from .transform import (
    sparse_reshape as sparse_reshape,
)
from .transform import (
    sparse_to_dense as sparse_to_dense,
)
from .transform import (
    split as split,
)
from .transform import (
    squeeze as squeeze,
)
from .transform import (
    stft as stft,
)
from .transform import (
    strided_set as strided_set,
)
from .transform import (
    strided_slice as strided_slice,
)
from .transform import (
    take as take,
)
from .transform import (
    tile as tile,
)
from .transform import (
    transpose as transpose,
)
from .transform import (
    trilu as trilu,
)
from .transform import (
    unique as unique,
)
from .transform import (
    unravel_index as unravel_index,
)
from .transform import (
    where as where,
)

__all__ = [
    "OpPattern", "abs", "acos", "acosh", "add", "adv_index", "all", "any", "arange", "argmax",
    "argmin", "argsort", "argwhere", "asin", "asinh", "atan", "atanh", "bitwise_and", "bitwise_not",
    "bitwise_or", "bitwise_xor", "broadcast_to", "broadcast_to_like", "cast", "cast_like", "ceil",
    "clip", "collapse_sum_like", "collapse_sum_to", "concatenate", "copy", "copy_shape_func", "cos",
    "cosh", "cumprod", "cumsum", "debug", "device_copy", "dft", "divide", "einsum", "equal", "erf",
    "exp", "expand_dims", "fast_erf", "fast_exp", "fast_tanh", "fixed_point_multiply",
    "fixed_point_multiply_per_axis", "floor",
    "floor_divide", "floor_mod", "full", "full_like", "gather", "gather_nd", "greater",
    "greater_equal", "invert_permutation", "isfinite", "isinf", "isnan", "layout_transform",
    "left_shift", "less", "less_equal", "log", "log10", "log2", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logsumexp", "matrix_set_diag", "max", "maximum", "mean",
    "mean_std", "mean_variance", "meshgrid", "min", "minimum", "mod", "multiply", "ndarray_size",
    "negative", "not_equal", "one_hot", "ones", "ones_like", "power", "prod",
    "register_alter_op_layout", "register_convert_op_layout", "register_external_compiler",
    "register_gradient", "register_legalize", "register_mixed_precision_conversion",
    "register_pattern", "register_stateful", "reinterpret", "repeat", "reshape", "reshape_like",
    "reverse", "reverse_reshape", "reverse_sequence", "right_shift", "round", "rsqrt",
    "scatter_elements", "scatter_nd", "searchsorted", "segment_sum", "sequence_mask", "shape_of",
    "sigmoid", "sign", "sin", "sinh", "slice_like", "sliding_window", "sort",
    "sparse_fill_empty_rows", "sparse_reshape", "sparse_to_dense", "split", "sqrt", "squeeze",
    "stack", "std", "stft", "strided_set", "strided_slice", "subtract", "sum", "take", "tan",
    "tanh", "tile", "topk", "transpose", "trilu", "trunc", "trunc_divide", "trunc_mod", "unique",
    "unravel_index", "variance", "where", "zeros", "zeros_like",
]  # fmt: skip
