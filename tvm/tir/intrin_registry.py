"""Tensor intrinsics: what a hardware instruction computes, and the code that runs it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Final, final

from tvm.error import CheckError, message
from tvm.ir.node import Field, Node, fields, register_nodes
from tvm.support.registry import Registry

from .function import PrimFunc
from .stmt import BlockRealize


@final
class TensorIntrin(Node):
    """A pair of functions over the same buffers: `desc` says what, `impl` says how."""

    __slots__ = ("desc", "impl")
    TYPE_KEY = "tir.TensorIntrin"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("desc", "impl")

    def __init__(self, desc: PrimFunc, impl: PrimFunc) -> None:
        for what, func in (("desc", desc), ("impl", impl)):
            if not isinstance(func, PrimFunc):
                raise TypeError(f"TensorIntrin: {what} is a {type(func).__name__}; legal: PrimFunc")
            _check(what, func)
        _check_pair(desc, impl)
        self.desc: Final = desc
        self.impl: Final = impl

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> None:
        """Make the intrinsic known under a name; a name that is taken needs `override`."""
        if name in INTRINSICS and not override:
            raise ValueError(
                message(
                    f"TensorIntrin {name!r} has already been registered",
                    legal="another name, or override=True",
                )
            )
        made = TensorIntrin(desc, impl)
        INTRINSICS.register(name, lambda: made, override=override)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """The intrinsic of a name; None or a ValueError with near names when there is none."""
        found = INTRINSICS.find(name)
        if found is None and not allow_missing:
            try:
                INTRINSICS.get(name)
            except KeyError as err:
                reason = f"TensorIntrin {name!r} is not registered: {err.args[0]}"
                raise ValueError(reason) from None
        return None if found is None else found()


_FILES: Final = ("arm_cpu", "cuda", "dot_product_common", "hexagon", "metal", "rocm", "x86")
INTRINSICS: Final[Registry[Callable[[], TensorIntrin]]] = Registry(
    "tensor intrinsic", *(f"tvm.tir.tensor_intrin.{file}" for file in _FILES)
)


def register_own(
    name: str,
    make: Callable[..., tuple[PrimFunc, PrimFunc]],
    *args: Any,
    override: bool = False,
) -> None:
    """`TensorIntrin.register` for the files that `INTRINSICS` loads: it loads none of them.

    `make(*args)` gives `desc` and `impl` when the intrinsic is first asked for: a program asks for
    few of the hundreds, and their text takes a second to read.
    """
    made = cache(lambda: TensorIntrin(*make(*args)))
    INTRINSICS.register(name, made, override=override, depth=2)


def _check(what: str, func: PrimFunc) -> None:
    """Each parameter is a buffer, and the body is one root block that says what it touches."""
    wrong = [param.name for param in func.params if param not in func.buffer_map]
    if wrong:
        raise CheckError(
            message(
                f"TensorIntrin: parameter {wrong[0]!r} of {what} is no buffer",
                legal="buffers, by T.match_buffer or T.Buffer",
            )
        )
    body = func.body
    if not isinstance(body, BlockRealize):
        raise CheckError(
            message(
                f"TensorIntrin: the body of {what} is a {type(body).__name__}",
                legal='one block: with T.block("root"): T.reads(...); T.writes(...)',
            )
        )
    if not body.block.reads and not body.block.writes:
        raise CheckError(
            message(
                f"TensorIntrin: the root block of {what} says neither what it reads nor writes",
                legal="T.reads(...) and T.writes(...) in the root block",
            )
        )


def _check_pair(desc: PrimFunc, impl: PrimFunc) -> None:
    if len(desc.params) != len(impl.params):
        raise CheckError(
            message(
                "TensorIntrin: desc and impl take different parameters",
                found=f"{len(desc.params)} and {len(impl.params)}",
                legal="the same buffers in the same order",
            )
        )
    for a, b in zip(desc.params, impl.params):
        x, y = desc.buffer_map[a], impl.buffer_map[b]
        if x.dtype is not y.dtype or len(x.shape) != len(y.shape):
            raise CheckError(
                message(
                    f"TensorIntrin: buffer {x.name!r} of desc and {y.name!r} of impl differ",
                    found=f"{x.dtype} of {len(x.shape)} dimensions, {y.dtype} of {len(y.shape)}",
                    legal="the same data type and number of dimensions",
                )
            )


register_nodes(TensorIntrin)
