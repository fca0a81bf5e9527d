from __future__ import annotations

import pytest

from tvm.tir import TensorIntrin
from tvm.tir.tensor_intrin.cuda import get_wmma_intrin_group
from tvm.tir.tensor_intrin.metal import get_simdgroup_intrin_group


@pytest.mark.parametrize(
    "types", [("float16", "float32"), ("float16", "float16"), ("int8", "int32")]
)
@pytest.mark.parametrize("trans", [False, True])
def test_all_names_of_a_group_are_registered(types: tuple[str, str], trans: bool) -> None:
    group = get_wmma_intrin_group("shared.dyn", "global", *types, trans)
    assert sorted(group) == ["compute", "init", "load_a", "load_b", "store"]
    assert all(TensorIntrin.get(name) is not None for name in group.values())


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_groups_of_simd_groups(dtype: str) -> None:
    group = get_simdgroup_intrin_group("shared", "global", dtype, trans_b=True)
    assert all(TensorIntrin.get(name) is not None for name in group.values())


def test_wrong_words() -> None:
    with pytest.raises(ValueError, match="in_dtype is 'float64'; legal: float16, int8"):
        get_wmma_intrin_group("shared", "global", "float64", "float32", False)
    with pytest.raises(ValueError, match="load_scope is 'local'; legal: shared"):
        get_simdgroup_intrin_group("local", "global", "float16")  # type: ignore[arg-type]
