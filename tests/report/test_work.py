"""Operations are counted by the arithmetic that a processor has for them."""

from __future__ import annotations

import pytest

from tvm.report.work import work_of
from tvm.script import from_source

pytestmark = pytest.mark.pure

TEXT = """
@T.prim_func
def main(a: T.Buffer((4, 8), "{one}"), b: T.Buffer((8, 2), "{many}"),
         c: T.Buffer((4, 2), "{sums}")):
    for i, j, k in T.grid(4, 2, 8):
        with T.block("c"):
            v, u, r = T.axis.remap("SSR", [i, j, k])
            with T.init():
                c[v, u] = T.Cast("{sums}", 0)
            c[v, u] = c[v, u] + {product}
"""
WIDENED = 'T.Cast("{sums}", a[v, r]) * T.Cast("{sums}", b[r, u])'


def _work(one: str, many: str, sums: str, product: str = WIDENED) -> dict[str, float] | None:
    kinds = {"one": one, "many": many, "sums": sums}
    return work_of(from_source(TEXT.format(**kinds, product=product.format(**kinds))))


@pytest.mark.parametrize(
    ("one", "many", "sums", "kind"),
    [
        ("int8", "int8", "int32", "int8"),
        ("uint8", "int8", "int32", "int8"),
        ("int16", "int16", "int32", "int16"),
        ("int16", "int8", "int32", "int16"),
        ("bfloat16", "bfloat16", "float32", "bfloat16"),
        ("float16", "float16", "float32", "float32"),  # no instruction sums them in float32
        ("int8", "int8", "int64", "int64"),
        ("int8", "int8", "float32", "float32"),
    ],
)
def test_products_of_narrow_numbers_are_of_their_kind(
    one: str, many: str, sums: str, kind: str
) -> None:
    assert _work(one, many, sums) == {kind: 128}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int8"])
def test_other_work_is_of_the_kind_of_its_results(dtype: str) -> None:
    assert _work(dtype, dtype, dtype, "a[v, r] * b[r, u]") == {dtype: 128}
    assert _work(dtype, dtype, dtype, "a[v, r]") == {dtype: 64}


def test_zero_points_do_not_hide_what_is_multiplied() -> None:
    product = '(T.Cast("int32", a[v, r]) - 3) * T.Cast("int32", b[r, u])'
    assert _work("int8", "int8", "int32", product) == {"int8": 128, "int32": 64}


def test_a_function_may_tell_its_count_and_has_none_with_open_sizes() -> None:
    func = from_source(TEXT.format(one="int8", many="int8", sums="int32", product="T.int32(1)"))
    assert work_of(func.with_attr("estimated_flops", 640)) == {"int32": 640.0}
    empty = from_source("@T.prim_func\ndef main(a: T.Buffer((4,), 'int8')):\n    T.evaluate(0)")
    assert work_of(empty) == {}
    assert work_of(empty.with_attr("estimated_flops", 8)) == {"float32": 8.0}
    text = "@T.prim_func\ndef main(p: T.handle, n: T.int64):\n    A = T.match_buffer(p, (n,))\n"
    assert work_of(from_source(text + "    T.evaluate(0)")) is None
