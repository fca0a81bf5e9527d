"""Operators that move, pick, join and make elements; their definitions stand by kind elsewhere."""

from .contraction import matmul, tensordot
from .creating import arange, hamming_window, meshgrid, shape, tensor_size
from .indexing import (
    adv_index,
    gather,
    gather_nd,
    index_tensor,
    matrix_set_diag,
    one_hot,
    sequence_mask,
    sparse_to_dense,
    take,
    trilu,
    unravel_index,
    where,
)
from .reshaping import (
    concatenate,
    expand_dims,
    expand_like,
    flip,
    layout_transform,
    repeat,
    reshape,
    reverse_sequence,
    sliding_window,
    split,
    squeeze,
    stack,
    tile,
    transpose,
)
from .slicing import dynamic_strided_slice, strided_set, strided_slice

__all__ = [
    "adv_index", "arange", "concatenate", "dynamic_strided_slice", "expand_dims", "expand_like",
    "flip", "gather", "gather_nd", "hamming_window", "index_tensor", "layout_transform", "matmul",
    "matrix_set_diag", "meshgrid", "one_hot", "repeat", "reshape", "reverse_sequence",
    "sequence_mask", "shape", "sliding_window", "sparse_to_dense", "split", "squeeze", "stack",
    "strided_set", "strided_slice", "take", "tensor_size", "tensordot", "tile", "transpose",
    "trilu", "unravel_index", "where",
]  # fmt: skip
