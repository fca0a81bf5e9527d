"""Products of matrices, convolutions."""

from __future__ import annotations

from typing import Any

import pytest

from .running import f, i, jax, same, text

jnp, lax = jax.numpy, jax.lax

SIZES = {"N": 2, "H": 6, "W": 7, "C": 4}
KERNEL = {"O": 6, "I": 4, "H": 3, "W": 2}


@pytest.mark.parametrize(
    "order",
    [
        ("NHWC", "HWIO", "NHWC"),
        ("NCHW", "OIHW", "NCHW"),
        ("NHWC", "OIHW", "NCHW"),
        ("CNHW", "IHWO", "HWNC"),
    ],
)
def test_convolutions_in_any_order(order: tuple[str, str, str]) -> None:
    same(
        lambda x, w: lax.conv_general_dilated(
            x, w, (1, 2), ((1, 2), (0, 1)), rhs_dilation=(1, 2), dimension_numbers=order
        ),
        f(*[SIZES[letter] for letter in order[0]]),
        f(*[KERNEL[letter] for letter in order[1]]),
    )


CASES: dict[str, tuple[Any, ...]] = {
    "matmul": (jnp.matmul, f(3, 4), f(4, 5)),
    "batch": (jnp.matmul, f(2, 3, 4), f(2, 4, 5)),
    "dot vec": (jnp.dot, f(4), f(4)),
    "einsum": (lambda a, b: jnp.einsum("bhqd,bkhd->bhqk", a, b), f(2, 3, 4, 5), f(2, 6, 3, 5)),
    "tensordot": (lambda a, b: jnp.tensordot(a, b, ((0, 2), (2, 0))), f(3, 4, 5), f(5, 2, 3)),
    "int dot": (
        lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32),
        i(3, 4).astype("int8"),
        i(4, 2).astype("int8"),
    ),
    "conv groups": (
        lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=2
        ),
        f(1, 5, 5, 4),
        f(3, 3, 2, 6),
    ),
    "conv transpose": (
        lambda x, w: lax.conv_transpose(
            x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        f(1, 5, 5, 4),
        f(3, 3, 4, 6),
    ),
    "conv1d": (
        lambda x, w: lax.conv_general_dilated(
            x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
        ),
        f(1, 5, 4),
        f(3, 4, 6),
    ),
    "conv negative pad": (
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), ((-1, 0), (2, -1))),
        f(1, 4, 6, 6),
        f(3, 4, 2, 2),
    ),
    "conv3d": (
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1, 1), "SAME"),
        f(1, 2, 4, 4, 4),
        f(3, 2, 2, 2, 2),
    ),
    "conv grad": (
        lambda x, w: jax.grad(
            lambda a, b: (lax.conv_general_dilated(a, b, (2, 2), "SAME") ** 2).sum(), (0, 1)
        )(x, w),
        f(2, 4, 6, 6),
        f(3, 4, 3, 3),
    ),
    "attention": (
        lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
        f(2, 5, 3, 4),
        f(2, 5, 3, 4),
        f(2, 5, 3, 4),
    ),
    "grad mlp": (
        lambda x, w, v: jax.grad(lambda w, v: (jnp.tanh(x @ w) @ v).sum(), (0, 1))(w, v),
        f(3, 4),
        f(4, 5),
        f(5, 2),
    ),
    "conv_general batch": (
        lambda x, w: jax.vmap(lambda a, b: lax.conv_general_dilated(a[None], b, (1, 1), "SAME"))(
            x, w
        ),
        f(2, 3, 5, 5),
        f(2, 4, 3, 3, 3),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_as_jax(name: str) -> None:
    function, *arrays = CASES[name]
    same(function, *arrays)


def test_products_name_another_type_only() -> None:
    a, b = f(3, 4).astype("float16"), f(4, 2).astype("float16")
    assert 'out_dtype="void"' in text(jnp.matmul, a, b)
    wide = text(lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32), a, b)
    assert "R.astype(arg0, dtype=\"float32\")" in wide
