"""Fourier transforms: numbers as torch gives them, of open sizes too."""

from __future__ import annotations

from typing import Any

import pytest

from .cases import Case, case
from .running import check, check_sizes, of_parts

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cpu
real = torch.view_as_real
fft = torch.fft
PAIRS = (2, 3, 4, 2)


CASES = [
    *(
        case(f"{name} {n} {norm}", of_parts(lambda x, name=name, n=n, norm=norm:
             getattr(fft, name)(x, n, 1, norm)), PAIRS)
        for name in ("fft", "ifft")
        for n, norm in ((None, None), (5, "ortho"), (2, "forward"))
    ),
    *(
        case(f"rfft {n} {norm}", lambda x, n=n, norm=norm: real(fft.rfft(x, n, 1, norm)), (2, 5, 3))
        for n, norm in ((None, "ortho"), (8, None), (4, "forward"))
    ),
    *(
        case(f"irfft {n} {norm}", lambda x, n=n, norm=norm:
             fft.irfft(torch.view_as_complex(x), n, 1, norm), PAIRS)
        for n, norm in ((None, None), (5, "ortho"), (9, "forward"))
    ),
    *(
        case(f"hfft {n} {norm}", lambda x, n=n, norm=norm:
             fft.hfft(torch.view_as_complex(x), n, 1, norm), PAIRS)
        for n, norm in ((None, None), (5, "ortho"), (9, "forward"))
    ),
    *(
        case(f"ihfft {n} {norm}", lambda x, n=n, norm=norm:
             real(fft.ihfft(x, n, 1, norm).resolve_conj()), (2, 5, 3))
        for n, norm in ((None, "ortho"), (8, None), (4, "forward"))
    ),
    case("hfft2", lambda x: fft.hfft2(torch.view_as_complex(x), norm="ortho"), PAIRS),
    case("hfftn", lambda x: fft.hfftn(torch.view_as_complex(x), (3, 7), norm="forward"), PAIRS),
    case("hfft of real numbers", fft.hfft, (2, 5)),
    case("ihfft2", lambda x: real(fft.ihfft2(x).resolve_conj()), (2, 3, 4)),
    case("ihfftn", lambda x: real(fft.ihfftn(x, (5, 3), (2, 0), "ortho").resolve_conj()),
         (2, 3, 4)),
    case("fft2", of_parts(lambda x: fft.ifft2(fft.fft2(x, (2, 5), norm="ortho"))), PAIRS),
    case("fftn", of_parts(lambda x: fft.fftn(x) + fft.ifftn(x, s=(3, 3))[..., :1]), PAIRS),
    case("rfftn", lambda x: real(fft.rfftn(x, dim=(0, 2))), (2, 3, 4)),
    case("fftn of real numbers", lambda x: fft.fftn(x, dim=(1, 2)).real, (2, 3, 4)),
    case("irfft2", lambda x: fft.irfft2(fft.rfft2(x), s=(3, 4)), (2, 3, 4)),
    case("shift", of_parts(lambda x: fft.ifftshift(fft.fftshift(x), 1)), PAIRS),
    case("shift of real numbers", lambda x: fft.fftshift(x, 1), (2, 5)),
    case("long", lambda x: real(fft.rfft(x)), (2, 360)),
]  # fmt: skip


@pytest.mark.parametrize("given", CASES, ids=lambda c: c.name)
def test_numbers(given: Case) -> None:
    check(given)


WINDOW = torch.hann_window(16)


def stft(x: Any, **options: Any) -> Any:
    return torch.stft(x, 16, 4, window=WINDOW, return_complex=True, **options)


@pytest.mark.parametrize(
    "options",
    [{}, {"center": False}, {"normalized": True, "pad_mode": "constant"}, {"onesided": False}],
    ids=str,
)
def test_windows_along_a_signal(options: Any) -> None:
    """There, and back to the signal, which differs at most where no window reaches."""

    def func(x: Any) -> Any:
        spectrum = stft(x, **options)
        kept = {k: v for k, v in options.items() if k != "pad_mode"}
        if "center" in options:
            return real(spectrum)
        back = torch.istft(spectrum, 16, 4, window=WINDOW, length=50, **kept)
        return real(spectrum), back

    check(Case("stft", func, ((2, 50),)))


def test_a_short_window_and_one_signal() -> None:
    window = torch.hamming_window(10)
    func = lambda x: torch.stft(x, 16, 5, 10, window, return_complex=True).abs()
    check(Case("stft", func, ((61,),)))


class Filters(torch.nn.Module):
    """Frequencies weighted by complex numbers that are part of the model."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(2)
        self.weight = torch.nn.Parameter(torch.randn(9, generator=generator, dtype=torch.cfloat))
        turns = torch.polar(torch.ones(9), torch.arange(9.0))
        self.register_buffer("turns", turns)

    def forward(self, x: Any) -> Any:
        spectrum = stft(x) * (self.weight * self.turns)[:, None]
        return torch.istft(spectrum, 16, 4, window=WINDOW)


class Mixer(torch.nn.Module):
    """Tokens mixed by a transform along both axes."""

    def forward(self, x: Any) -> Any:
        return fft.fftn(x, dim=(1, 2)).real


class Convolution(torch.nn.Module):
    """A filter as long as the signal, by transforms of twice its length."""

    def forward(self, x: Any) -> Any:
        n = x.shape[-1]
        decay = torch.exp(-0.1 * torch.arange(n))
        product = fft.rfft(x, n=2 * n) * fft.rfft(decay, n=2 * n)
        return fft.irfft(product, n=2 * n)[..., :n]


@pytest.mark.parametrize(
    ("model", "shapes"),
    [
        (Filters(), [(2, 64), (1, 77), (3, 130)]),
        (Mixer(), [(2, 6, 8), (1, 9, 8), (3, 40, 8)]),
        (Convolution(), [(2, 20), (1, 33), (3, 64)]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_open_sizes(model: Any, shapes: Any) -> None:
    check_sizes(model, shapes, rtol=1e-3)
