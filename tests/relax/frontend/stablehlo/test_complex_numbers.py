"""Complex values are two tensors: transforms and arithmetic as JAX computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tvm.error import OpNotImplemented
from tvm.relax.frontend.stablehlo import from_stablehlo

from .running import f, jax, same

jnp, lax = jax.numpy, jax.lax


def _parts(z: Any) -> tuple[Any, Any]:
    return jnp.real(z), jnp.imag(z)


def _of_two(rule: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda a, b, c, d: _parts(rule(lax.complex(a, b), lax.complex(c, d)))


BINARY: Final = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y, "matmul": lambda x, y: x @ y.T,
    "concatenate": lambda x, y: jnp.concatenate([x, y[::-1]], 1),
    "where": lambda x, y: jnp.where(jnp.real(x) > 0, x, y),
    "constant": lambda x, y: x * (1 + 2j) + jnp.conj(y) - jnp.array([1j, 2.0, 3 - 1j]),
    "sum": lambda x, y: (x * y).sum(0), "exp": lambda x, y: jnp.exp(x) + jnp.log(y),
    "reshape": lambda x, y: (x + y).reshape(3, 4).T[1:, ::2],
    "equal": lambda x, y: jnp.where(x == x, x, y) + jnp.where(x != y, y, x),
}  # fmt: skip


@pytest.mark.cpu
@pytest.mark.parametrize("name", BINARY)
def test_arithmetic(name: str) -> None:
    same(_of_two(BINARY[name]), *(f(4, 3) for _ in range(4)))


TRANSFORMS: Final = {
    "fft": lambda x: _parts(jnp.fft.fft(x)), "ifft": lambda x: _parts(jnp.fft.ifft(x, axis=0)),
    "rfft": lambda x: _parts(jnp.fft.rfft(x)), "fft2": lambda x: _parts(jnp.fft.fft2(x)),
    "irfft": lambda x: jnp.fft.irfft(jnp.fft.rfft(x, n=9), n=9),
    "irfft2": lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x) * 2),
    "rfftn": lambda x: _parts(jnp.fft.rfftn(x)), "size": lambda x: jnp.abs(jnp.fft.fft(x)),
}  # fmt: skip


@pytest.mark.cpu
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    same(TRANSFORMS[name], f(2, 6, 8))


def test_results_and_parameters_are_real() -> None:
    for func, given in ((jnp.fft.fft, f(4)), (jnp.real, f(4) + 1j)):
        lowered = jax.jit(func).lower(given)
        with pytest.raises(OpNotImplemented, match="complex numbers"):
            from_stablehlo(lowered.compiler_ir(dialect="stablehlo"))


def test_what_has_no_rule_is_named() -> None:
    lowered = jax.jit(lambda x: jnp.real(jnp.tanh(lax.complex(x, x)))).lower(f(4))
    with pytest.raises(ValueError, match=r"stablehlo\.tanh"):
        from_stablehlo(lowered.compiler_ir(dialect="stablehlo"))


@pytest.mark.cpu
def test_numbers_without_axes() -> None:
    def function(a: Any, b: Any) -> Any:
        mean = jax.numpy.mean(jax.lax.complex(a, b)) * (2 - 1j)
        return mean.real, mean.imag

    same(function, f(3, 4), f(3, 4))
