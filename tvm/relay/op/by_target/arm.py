"""Convolutions on Arm: weights in tiles of a product of matrices.

    NHWC, HWIO      ->      the weight as a matrix, in tiles of 16 x 4 (4 x 16 for bytes)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.relay.op import nn
from tvm.target import Target
from tvm.target.codegen import target_has_features


def conv2d_alter_layout(
    attrs: Any, inputs: Sequence[Any], tinfos: Sequence[Any], out_type: Any
) -> Any:
    """A convolution without groups, its weight in tiles: by outputs, or as a matrix (64 bits)."""
    if int(attrs.groups) != 1:
        return None
    options = {**dict(attrs.items()), "channels": int(tinfos[1].shape[0])}
    layouts = (attrs.data_layout, attrs.kernel_layout)
    if layouts == ("NCHW", "OIHW"):
        options.update(kernel_size=tuple(int(e) for e in tinfos[1].shape[2:]),
                       kernel_layout="OIHW1o")  # fmt: skip
        return nn.conv2d(*inputs, **options)
    target = Target.current(allow_none=True)
    wide = target is not None and str(target.attrs.get("mtriple", "")).startswith("aarch64")
    if layouts != ("NHWC", "HWIO") or not wide:
        return None
    options.update(channels=int(tinfos[1].shape[3]),
                   kernel_size=tuple(int(e) for e in tinfos[1].shape[:2]))  # fmt: skip
    bytes_ = str(tinfos[1].dtype) in ("int8", "uint8")
    dot = target_has_features("dotprod") and not target_has_features("i8mm")
    rows, columns = (4, 16) if bytes_ and not dot else (16, 4)
    weight = nn.contrib_conv2d_gemm_weight_transform(inputs[1], rows, columns)
    return nn.contrib_conv2d_gemm_without_weight_transform(inputs[0], weight, **options)
