"""Convolutions and products in the layouts that the current target likes (`AlterOpLayout`).

    nn.conv2d(%x, %w)                                        under llvm -mcpu=core-avx2
    ->
    nn.contrib_conv2d_NCHWc(%x8, %w8, data_layout="NCHW8c", kernel_layout="OIHW8i8o")

A program of its own asks for them; what is built leaves layouts to Relax, which knows the kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .by_target import generic
from .op import register_alter_op_layout

Rule = Callable[..., Any]


def _by_target(asked: Rule) -> Rule:
    def altered(attrs: Any, inputs: Any, tinfos: Any, out_type: Any) -> Any:
        return asked(attrs, inputs, tinfos, out_type)

    return altered


OF_TARGETS: Final = {
    "nn.conv2d": _by_target(generic.conv2d_alter_layout),
    "nn.conv3d": _by_target(generic.conv3d_alter_layout),
    "nn.dense": _by_target(generic.dense_alter_layout),
}
for _name, _rule in OF_TARGETS.items():
    register_alter_op_layout(_name, _rule)
