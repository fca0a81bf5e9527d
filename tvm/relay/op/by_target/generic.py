"""Functions that each target may have a version of: a call legal for it, or in its layout.

    with tvm.target.Target("cuda"):
        topi.nn.dense_legalize(attrs, inputs, types)     # padded to tiles of tensor cores, or None

`..._legalize(attrs, inputs, types)` takes the types of the operands and of the result;
`..._alter_layout(attrs, inputs, tinfos, out_type)` tensors or types of the operands. None leaves a
call as it is, and is what targets without a version answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.target.generic_func import generic_func

from . import arm, cuda, x86

Rule = Callable[..., Any]


def _rule(name: str, doc: str, **versions: Rule) -> Any:
    def keep(*args: Any) -> None:
        return None

    keep.__name__ = keep.__qualname__ = name
    keep.__doc__ = doc
    made: Any = generic_func(keep)
    for key, version in versions.items():
        made.register(key, version)
    return made


def _legalize(name: str, **versions: Rule) -> Any:
    return _rule(f"{name}_legalize", f"A call of {name} with operands that a target likes.",
                 **versions)  # fmt: skip


def _alter(name: str, **versions: Rule) -> Any:
    return _rule(f"{name}_alter_layout", f"A call of {name} in a layout that a target likes.",
                 **versions)  # fmt: skip


batch_matmul_legalize: Final = _legalize("batch_matmul", cuda=cuda.batch_matmul_legalize)
bitserial_conv2d_legalize: Final = _legalize("bitserial_conv2d")
conv2d_legalize: Final = _legalize(
    "conv2d", cuda=cuda.conv2d_legalize, cpu=x86.conv2d_legalize
)
conv2d_transpose_legalize: Final = _legalize("conv2d_transpose")
conv3d_transpose_legalize: Final = _legalize("conv3d_transpose")
deformable_conv2d_legalize: Final = _legalize("deformable_conv2d")
dense_legalize: Final = _legalize("dense", cuda=cuda.dense_legalize)
matmul_legalize: Final = _legalize("matmul")

conv2d_alter_layout: Final[Any] = _alter(
    "conv2d", cpu=x86.conv2d_alter_layout, arm_cpu=arm.conv2d_alter_layout
)
conv3d_alter_layout: Final[Any] = _alter("conv3d")
dense_alter_layout: Final[Any] = _alter("dense", cpu=x86.dense_alter_layout)
sparse_dense_alter_layout: Final = _alter("sparse_dense")
