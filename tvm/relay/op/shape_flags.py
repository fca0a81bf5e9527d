"""Which operands an operator reads to tell the shape of its result (attribute TShapeDataDependent).

One flag holds for all operands. Operators that are not named read shapes alone, where they may meet
extents that a program learns as it runs.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.op import DERIVED, Op

_BY_VALUES: Final[dict[str, tuple[int, ...]]] = {
    **dict.fromkeys((
        "arange", "argwhere", "broadcast_to", "dyn.broadcast_to", "dyn.full",
        "dyn.image.resize2d", "dyn.nn.pad", "dyn.nn.upsampling", "dyn.nn.upsampling3d",
        "dyn.one_hot", "dyn.ones", "dyn.sparse_to_dense", "dyn.tile", "dyn.topk", "dyn.zeros",
        "sparse_fill_empty_rows", "stft",
    ), (1,)),
    "dyn.expand_dims": (1, 1),
    "dyn.reshape": (0, 1),
    "dyn.squeeze": (0, 1),
    "dyn.strided_slice": (0, 1, 1, 1),
}  # fmt: skip


def shape_flags(op: Op) -> tuple[int, ...] | None:
    """The flags of an operator of Relay; None for what is none, or has no kernel."""
    found = _BY_VALUES.get(op.name)
    if found is None and op.own_attr("FRelayLower") is not None:
        return (0,)
    return found


DERIVED["TShapeDataDependent"] = shape_flags
