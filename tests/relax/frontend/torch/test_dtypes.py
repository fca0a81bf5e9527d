"""Names of data types, and which one a result has (without torch, but for tensors)."""

from __future__ import annotations

import pytest

from tvm.relax.frontend.torch.dtypes import (
    UnknownDType,
    dtype_name,
    number_dtype,
    promote,
    result_type,
    tensor_array,
)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("torch.float32", "float32"), ("float", "float32"), ("half", "float16"), ("long", "int64"),
     ("torch.bfloat16", "bfloat16"), ("bool", "bool")],
)  # fmt: skip
def test_names(given: str, wanted: str) -> None:
    assert dtype_name(given) == wanted


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownDType, match=r"found: torch\.complex64"):
        dtype_name("torch.complex64")


def test_two_types() -> None:
    assert promote("int8", "uint8") == "int16"
    assert promote("float16", "bfloat16") == "float32"
    assert promote("int64", "float16") == "float16"
    assert promote("bool", "int8") == "int8"
    assert promote("int32", "int64") == "int64"


def test_scalars_count_by_category_alone() -> None:
    assert result_type(["float16"], ["float32"], []) == "float16"
    assert result_type(["int32"], [], [number_dtype(2.5)]) == "float32"
    assert result_type(["int32"], ["int64"], [number_dtype(2)]) == "int32"
    assert result_type(["bool"], [], [number_dtype(2)]) == "int64"
    assert result_type([], ["int32", "int64"], []) == "int64"


def test_as_torch_has_it() -> None:
    torch = pytest.importorskip("torch")
    names = ("bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64")
    for a in names:
        for b in names:
            kinds = getattr(torch, a), getattr(torch, b)
            assert promote(a, b) == dtype_name(torch.promote_types(*kinds))


def test_arrays_of_short_types() -> None:
    torch = pytest.importorskip("torch")
    for name in ("bfloat16", "float8_e4m3fn", "float16"):
        array = tensor_array(torch.tensor([1.0, -2.0]).to(getattr(torch, name)))
        assert array.dtype.name == name
        assert array.astype("float32").tolist() == [1.0, -2.0]
    assert tensor_array(torch.arange(6).reshape(2, 3).T).tolist() == [[0, 3], [1, 4], [2, 5]]
