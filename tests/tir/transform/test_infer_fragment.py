from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir import stmt as s
from tvm.tir.functor import walk
from tvm.tir.transform import InferFragment

pytestmark = pytest.mark.pure


def attributes(func: object) -> list[tuple[str, str, str]]:
    """Name of the memory, key and value of each attribute, outer ones first."""
    body = InferFragment()(IRModule({"main": func}))["main"].body
    found = [n for n in walk(body) if isinstance(n, s.AttrStmt)]
    return [(a.node.name, a.attr_key, a.value.value) for a in found]


def test_shapes_and_layouts() -> None:
    @T.prim_func(check_well_formed=False)
    def product(A: T.Buffer((256,), "float16"), C: T.Buffer((256,), "float32")) -> None:
        a = T.allocate([256], "float16", "wmma.matrix_a")
        b = T.allocate([256], "float16", "wmma.matrix_b")
        c = T.allocate([256], "float32", "wmma.accumulator")
        plain = T.allocate([4], "float32", "local")
        T.tvm_load_matrix_sync(a, 16, 16, 16, 0, A.access_ptr("r"), 16, "row_major")
        T.tvm_load_matrix_sync(b, 16, 16, 16, 0, A.access_ptr("r"), 16, "col_major")
        T.tvm_fill_fragment(c, 16, 16, 16, 0, T.float32(0))
        T.tvm_mma_sync(c, 0, a, 0, b, 0, c, 0)
        T.tvm_store_matrix_sync(c, 16, 16, 16, 0, C.access_ptr("w"), 16, "row_major")

    shape = "16, 16, 16"
    assert attributes(product) == [
        ("a", "fragment_layout", "row_major"), ("a", "fragment_shape", shape),
        ("b", "fragment_layout", "col_major"), ("b", "fragment_shape", shape),
        ("c", "fragment_layout", "row_major"), ("c", "fragment_shape", shape),
    ]  # fmt: skip


def test_layouts_that_differ() -> None:
    @T.prim_func(check_well_formed=False)
    def both(A: T.Buffer((256,), "float16")) -> None:
        a = T.allocate([256], "float16", "wmma.matrix_a")
        T.tvm_load_matrix_sync(a, 16, 16, 16, 0, A.access_ptr("r"), 16, "row_major")
        T.tvm_load_matrix_sync(a, 16, 16, 16, 0, A.access_ptr("r"), 16, "col_major")

    with pytest.raises(TVMError, match="one layout for each fragment"):
        attributes(both)


def test_shapes_that_differ() -> None:
    @T.prim_func(check_well_formed=False)
    def product() -> None:
        a = T.allocate([256], "float16", "wmma.matrix_a")
        c = T.allocate([256], "float32", "wmma.accumulator")
        T.tvm_fill_fragment(a, 16, 16, 16, 0, T.float16(0))
        T.tvm_fill_fragment(c, 32, 8, 16, 0, T.float32(0))
        T.tvm_mma_sync(c, 0, a, 0, a, 0, c, 0)

    with pytest.raises(TVMError, match="in one product"):
        attributes(product)
