"""Matrix fragments of tensor cores: what their attributes say, and their C++ types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tvm.backend.device.stmt import Scratch
from tvm.tir import expr as e
from tvm.tir import stmt as s

if TYPE_CHECKING:
    from .codegen import CudaEmitter

_NARROW: Final = {
    "int4": "nvcuda::wmma::experimental::precision::s4",
    "uint4": "nvcuda::wmma::experimental::precision::u4",
    "int1": "nvcuda::wmma::experimental::precision::b1",
    "uint1": "nvcuda::wmma::experimental::precision::b1",
    "bool": "nvcuda::wmma::experimental::precision::b1",
}


class Fragments:
    """The shapes and layouts of a function's fragments."""

    def __init__(self) -> None:
        self.shapes: dict[object, tuple[int, int, int]] = {}
        self.layouts: dict[object, str] = {}

    def note(self, op: s.AttrStmt) -> None:
        """Remember what an attribute says of a fragment."""
        value = op.value.value if isinstance(op.value, e.StringImm) else ""
        if op.attr_key == "fragment_shape":
            m, n, k = (int(part) for part in value.split(","))
            self.shapes[op.node] = (m, n, k)
        elif op.attr_key == "fragment_layout":
            self.layouts[op.node] = value

    def type_of(self, emit: CudaEmitter, one: Scratch) -> tuple[str, int]:
        """The type of a fragment, and how many an allocation has."""
        shape = self.shapes.get(one.var)
        if shape is None:
            emit.refuse(f"fragment {one.var.name}", "nothing loads, fills or multiplies it",
                        "fragments with a shape, which tir.InferFragment finds")  # fmt: skip
        m, n, k = shape
        role = one.scope.removeprefix("wmma.")
        size = {"matrix_a": m * k, "matrix_b": n * k, "accumulator": m * n}[role]
        kind = _NARROW.get(str(one.dtype)) or emit.type_of(one.dtype)
        layout = self.layouts.get(one.var, "row_major")
        order = "" if role == "accumulator" else f", nvcuda::wmma::{layout}"
        count = max((one.size or size) // size, 1)
        return f"nvcuda::wmma::fragment<nvcuda::wmma::{role}, {m}, {n}, {k}, {kind}{order}>", count
