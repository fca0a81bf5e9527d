"""Complex numbers: what torch computes, from their parts."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.relax.frontend.torch import from_exported_program, relax_dynamo

from .cases import Case, case
from .running import check, check_sizes, exported, of_parts

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cpu
real = torch.view_as_real
fft = torch.fft
PAIRS = (2, 3, 4, 2)


CASES = [
    case("complex", lambda a, b: real(torch.complex(a, b)), (2, 3), (2, 3)),
    case("polar", lambda a, b: real(torch.polar(a, b)), ((2, 3), "positive"), (2, 3)),
    case("abs", lambda x: torch.view_as_complex(x).abs(), PAIRS),
    case("angle", lambda x: torch.view_as_complex(x).angle(), PAIRS),
    case("angle of real numbers", torch.angle, (2, 5)),
    case("parts", lambda x: torch.view_as_complex(x).real + torch.view_as_complex(x).imag, PAIRS),
    case("conj", of_parts(lambda x: x.conj() * 2), PAIRS),
    case("sums", of_parts(lambda a, b: a + b - 2.5 * a, 2), PAIRS, PAIRS),
    case("with a real tensor", of_parts(lambda a, b: (a + b) * b - b / a), PAIRS, (2, 3, 4)),
    case("with a number", of_parts(lambda a: (a + 2) * (1 - 2j) + 1j), PAIRS),
    case("product", of_parts(lambda a, b: a * b, 2), PAIRS, PAIRS),
    case("square", of_parts(lambda a: a * a + a**2 + a.square()), PAIRS),
    case("quotient", of_parts(lambda a, b: a / b + a.reciprocal(), 2), PAIRS, PAIRS),
    case("exp, log, sqrt, sgn",
         of_parts(lambda a: a.exp() + a.log() + a.sqrt() + a.sgn() + a**1.5), PAIRS),
    case("matmul", of_parts(lambda a, b: a @ b.mT, 2), PAIRS, PAIRS),
    case("einsum", of_parts(lambda a, b: torch.einsum("abc,abd->bcd", a, b), 2), PAIRS, PAIRS),
    case("moves", of_parts(lambda a: torch.cat([a.transpose(0, 1)[:, :1], a.permute(1, 0, 2)], 1)
                       .flatten(1).unsqueeze(0).sum(-1)), PAIRS),
    case("where", of_parts(lambda a, b: torch.where(b > 0, a, 1.5)), PAIRS, (2, 3, 4)),
    case("cat with a real tensor", of_parts(lambda a, b: torch.stack([a, b])), PAIRS, (2, 3, 4)),
    case("unbind", of_parts(lambda a: a.unbind(1)[2] * a.chunk(3, 1)[0].squeeze(1)), PAIRS),
    case("types", of_parts(lambda a, b: a.to(torch.complex128).to(torch.complex64)
                       * b.to(torch.cfloat) + b.type_as(a)), PAIRS, (2, 3, 4)),
    case("made", of_parts(lambda a: torch.zeros(2, 3, 4, dtype=a.dtype) + torch.ones_like(a)
                          + torch.full((4,), 2.0, dtype=torch.complex64) * a
                          + torch.full_like(a, 1 - 3j)), PAIRS),
    case("pad", of_parts(lambda a: torch.nn.functional.pad(a, [1, 2], value=2.0)), PAIRS),
]  # fmt: skip


@pytest.mark.parametrize("given", CASES, ids=lambda c: c.name)
def test_numbers(given: Case) -> None:
    check(given)


class Rotated(torch.nn.Module):
    """Pairs of features turned by an angle for each place."""

    def forward(self, x: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        angles = torch.outer(torch.arange(x.shape[1]), torch.tensor([1.0, 0.1]))
        turns = torch.polar(torch.ones_like(angles), angles)
        return real(pairs * turns).flatten(2)


def test_open_sizes() -> None:
    check_sizes(Rotated(), [(2, 6, 4), (1, 9, 4), (3, 5, 4)])


def test_attributes_in_graphs_of_torch_compile() -> None:
    def func(x: Any) -> Any:
        y = fft.fft(fft.fft(x, dim=-1), dim=-2)
        z = y.T.H.mT.real if y.ndim == 2 else y.mH.imag
        return y.real + y.imag, z, torch.zeros(2, dtype=y.dtype).real

    fast = torch.compile(func, backend=relax_dynamo(), dynamic=True)
    for shape in ((3, 4), (2, 3, 5)):
        x = torch.randn(shape)
        torch.testing.assert_close(fast(x), func(x), rtol=1e-4, atol=1e-5)


def test_what_has_no_parts_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="complex numbers"):
        from_exported_program(exported(lambda x: fft.fft(x).cosh().real, torch.ones(3)))
    with pytest.raises(ValueError, match="view_as_real"):
        from_exported_program(exported(lambda x: fft.fft(x), torch.ones(3)))
