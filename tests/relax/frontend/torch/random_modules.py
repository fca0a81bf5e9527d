"""Random torch modules: steps over texts (n, t, 8) or images (n, 4, h, w) of open extents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional
WIDTHS = (2, 3, 4, 8, 16)  # extents that are known, and so may be the width of a layer
Step = Callable[[Any], Any]

ELEMENTWISE: tuple[Step, ...] = (
    torch.relu, torch.tanh, torch.sigmoid, torch.abs, torch.neg, torch.floor, torch.ceil,
    torch.round, torch.sign, torch.sin, torch.atan, torch.square, torch.trunc, torch.frac,
    torch.erf, torch.expm1, torch.asinh, torch.nan_to_num, F.gelu, F.silu, F.elu, F.softplus,
    F.hardswish, F.hardsigmoid, F.leaky_relu, F.mish, F.relu6, F.logsigmoid, F.softsign, F.selu,
    F.celu, F.tanhshrink,
    lambda x: torch.log1p(x.abs()), lambda x: torch.rsqrt(x.abs() + 1), lambda x: 1 - x,
    lambda x: x.clamp(-0.5, 0.7), lambda x: x.clamp(min=0.1), lambda x: 2 / (x.abs() + 1),
    lambda x: x % 0.7, lambda x: x // 0.5, lambda x: torch.fmod(x, 0.8), lambda x: x**2,
    lambda x: torch.where(x > 0, x, x * 0.1), lambda x: x.masked_fill(x > 0.5, 0.0),
    lambda x: (x > 0).float(), lambda x: x.to(torch.int32).float(),
    lambda x: x.double().sin().float(),
    lambda x: torch.logaddexp(x, x * 0.5), lambda x: torch.threshold(x, 0.1, -1.0),
    lambda x: torch.heaviside(x, torch.tensor(0.5)), lambda x: torch.copysign(x, -x.abs()),
)  # fmt: skip
PAIRS: tuple[Callable[[Any, Any], Any], ...] = (
    torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, torch.fmax, torch.atan2,
    torch.hypot, torch.nextafter, torch.rsub,
    lambda a, b: a / (b.abs() + 1), lambda a, b: torch.where(a > b, a, b * 0.5),
    lambda a, b: torch.addcmul(a, a, b, value=0.5), lambda a, b: torch.lerp(a, b, 0.25),
    lambda a, b: torch.fmod(a, b.abs() + 1), lambda a, b: torch.floor_divide(a, b.abs() + 1),
    lambda a, b: torch.remainder(a, b.abs() + 0.5), lambda a, b: a.masked_fill(b > 0, 1.0),
    lambda a, b: torch.logical_xor(a > 0, b > 0).float(), lambda a, b: torch.add(a, b, alpha=2),
    lambda a, b: F.smooth_l1_loss(a, b, reduction="none"),
    lambda a, b: torch.ldexp(a, (b > 0).to(torch.int32)),
)  # fmt: skip
ALONG: tuple[Callable[[Any, int], Any], ...] = (  # an axis; the shape stays
    torch.softmax, torch.log_softmax, torch.cumsum, lambda x, d: x - x.mean(d, keepdim=True),
    lambda x, d: x - x.amax(d, keepdim=True), lambda x, d: F.normalize(x, dim=d),
    lambda x, d: x * x.var(d, keepdim=True, correction=0), lambda x, d: x.flip(d),
    lambda x, d: x + x.logsumexp(d, keepdim=True), lambda x, d: x.roll(1, d),
    lambda x, d: x.sort(d)[0], lambda x, d: x / (x.norm(dim=d, keepdim=True) + 1),
    lambda x, d: x.gather(d, x.argsort(d)), lambda x, d: x.scatter(d, x.argsort(d), x * 2),
    lambda x, d: torch.zeros_like(x).scatter_add(d, x.argsort(d) // 2, x),
    lambda x, d: x.take_along_dim(x.argsort(d, descending=True), d),
    lambda x, d: x.index_select(d, torch.arange(x.shape[d] - 1, -1, -1)),
    lambda x, d: x.index_add(d, torch.tensor([0, 1]), x.narrow(d, 0, 2)),
    lambda x, d: torch.where(torch.arange(x.shape[-1]) % 2 == 0, x, -x),
    lambda x, d: x + torch.arange(x.shape[-1]),
)  # fmt: skip
REDUCED: tuple[Callable[[Any, int, bool], Any], ...] = (
    torch.mean, torch.sum, torch.amax, torch.amin,
    lambda x, d, k: x.std(d, keepdim=k, correction=0),
    lambda x, d, k: x.argmax(d, keepdim=k).float(), lambda x, d, k: x.max(d, keepdim=k)[0],
    lambda x, d, k: (x > 0).any(d, keepdim=k).float(),
    lambda x, d, k: x.min(d, keepdim=k)[1].float(),
)  # fmt: skip
PARTS: tuple[Callable[[Any, int, int], Any], ...] = (  # an axis, and a number below 4
    lambda x, d, s: x.narrow(d, 1, x.shape[d] - 1), lambda x, d, s: x.narrow(d, 0, x.shape[d] - 2),
    lambda x, d, s: x.select(d, s), lambda x, d, s: x.select(d, -s),
    lambda x, d, s: x.transpose(0, d)[::s].transpose(0, d),
    lambda x, d, s: x.transpose(0, d)[1:-1:s].transpose(0, d),
    lambda x, d, s: torch.cat([x.narrow(d, 0, 1), x], d),
    lambda x, d, s: torch.cat([x, x.flip(d)], d),
    lambda x, d, s: x.index_select(d, torch.tensor([s, 0, 1])),
    lambda x, d, s: x.narrow(d, 0, x.shape[d] // 2),
    lambda x, d, s: x.narrow(d, x.shape[d] // 2, 1),
    lambda x, d, s: torch.stack([x, -x], d), lambda x, d, s: x.topk(2, d)[0],
    lambda x, d, s: x.gather(d, x.topk(2, d, largest=False)[1]),
)  # fmt: skip
VIEWS: tuple[Callable[[Any, int, int, list[int]], Any], ...] = (  # two axes, and an order of all
    lambda x, a, b, o: x.transpose(a, b), lambda x, a, b, o: x.permute(o),
    lambda x, a, b, o: x.movedim(a, b), lambda x, a, b, o: x.unsqueeze(a),
    lambda x, a, b, o: x.squeeze(a), lambda x, a, b, o: x.flatten(0, 1),
    lambda x, a, b, o: x.flatten(-2), lambda x, a, b, o: x.reshape(x.shape[0], -1),
    lambda x, a, b, o: x.transpose(a, b).reshape(x.shape[0], -1),
    lambda x, a, b, o: x.unsqueeze(-1).expand(*x.shape, 2),
    lambda x, a, b, o: x.contiguous().view(-1, x.shape[-1]),
)  # fmt: skip
PRODUCTS: tuple[Step, ...] = (
    lambda x: x @ x.mT, lambda x: x.mT @ x, lambda x: x @ (x.mT @ x) * 0.1,
    lambda x: torch.einsum("...ij,...kj->...ik", x, x.tanh()),
    lambda x: torch.einsum("...ij->...j", x),
    lambda x: F.scaled_dot_product_attention(x, x, x),
    lambda x: F.scaled_dot_product_attention(x, x.tanh(), x, is_causal=True),
    lambda x: F.scaled_dot_product_attention(
        x, x, x, attn_mask=torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).tril()
    ),
    lambda x: (x @ x.mT + torch.full((x.shape[-2],) * 2, -1e9).triu(1)).softmax(-1) @ x,
)  # fmt: skip
PLANES: tuple[Callable[[Any, str], Any], ...] = (  # a way to interpolate
    lambda x, way: F.interpolate(x, scale_factor=2, mode=way),
    lambda x, way: F.interpolate(x, size=(x.shape[2] + 3, x.shape[3] * 2), mode=way),
    lambda x, way: F.pad(x, (1, 2, 0, 1), mode="reflect"),
    lambda x, way: F.pad(x, (1, 0, 2, 1), mode="replicate"),
    lambda x, way: F.pad(x, (1, 2, 0, 1), value=0.5), lambda x, way: F.pad(x, (-1, 1, 1, -1)),
    lambda x, way: F.unfold(x, 2),
    lambda x, way: F.pixel_unshuffle(x[:, :, : x.shape[2] // 2 * 2, : x.shape[3] // 2 * 2], 2),
)  # fmt: skip


class Steps(nn.Module):  # type: ignore[misc]
    """Each step makes a value of an earlier one or two; some of the values are results."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        self.steps: list[tuple[Callable[..., Any], tuple[int, ...]]] = []
        self.results: tuple[int, ...] = ()

    def forward(self, *given: Any) -> Any:
        values = list(given)
        for step, operands in self.steps:
            values.append(step(*[values[i] for i in operands]))
        return tuple(values[i] for i in self.results)


class Grower:
    """Grows a module, and runs it along."""

    def __init__(self, seed: int, given: Sequence[Any]) -> None:
        torch.manual_seed(seed)
        self.rng = np.random.default_rng(seed)
        self.values = list(given)
        self.module = Steps()

    def below(self, count: int) -> int:
        return int(self.rng.integers(count))

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[self.below(len(choices))]

    def value(self, fits: Callable[[Any], bool] = lambda x: True) -> int:
        """A value that fits; IndexError where there is none."""
        found = [i for i, x in enumerate(self.values) if 0 < x.numel() < 200_000 and fits(x)]
        if not found:
            raise IndexError("no value fits")
        return int(self.pick(found))

    def add(self, step: Callable[..., Any], *operands: int) -> None:
        self.values.append(step(*[self.values[i] for i in operands]))
        self.module.steps.append((step, operands))

    def layer(self, layer: Any, operand: int, found: Step = lambda x: x) -> None:
        self.module.layers.append(layer.eval())
        self.add(lambda x: found(layer(x)), operand)

    def elementwise(self) -> None:
        self.add(self.pick(ELEMENTWISE), self.value())

    def pair(self) -> None:
        left = self.value()
        same = self.value(lambda x: x.shape == self.values[left].shape)
        self.add(self.pick(PAIRS), left, same)

    def along(self) -> None:
        operand = self.value(lambda x: x.dim() > 0 and min(x.shape) > 1)
        step, axis = self.pick(ALONG), self.below(self.values[operand].dim())
        self.add(lambda x: step(x, axis), operand)

    def reduced(self) -> None:
        operand = self.value(lambda x: x.dim() > 1)
        axis, keep = self.below(self.values[operand].dim()), self.below(2) == 1
        step = self.pick(REDUCED)
        self.add(lambda x: step(x, axis, keep), operand)

    def part(self) -> None:
        operand = self.value(lambda x: x.dim() > 1 and min(x.shape) > 3)
        step, axis = self.pick(PARTS), self.below(self.values[operand].dim())
        number = 1 + self.below(3)
        self.add(lambda x: step(x, axis, number), operand)

    def view(self) -> None:
        operand = self.value(lambda x: x.dim() > 1)
        rank, step = self.values[operand].dim(), self.pick(VIEWS)
        a, b, order = self.below(rank), self.below(rank), self.rng.permutation(rank).tolist()
        self.add(lambda x: step(x, a, b, order), operand)

    def product(self) -> None:
        self.add(self.pick(PRODUCTS), self.value(lambda x: x.dim() in (3, 4)))

    def dense(self) -> None:
        operand = self.value(lambda x: x.dim() > 1 and x.shape[-1] in WIDTHS)
        width = self.values[operand].shape[-1]
        layers = (
            nn.Linear(width, 8), nn.Linear(width, 4, bias=False), nn.LayerNorm(width),
            nn.RMSNorm(width),
        )  # fmt: skip
        self.layer(self.pick(layers), operand)

    def text(self) -> None:
        operand = self.value(lambda x: x.dim() == 3 and x.shape[-1] in (4, 8, 16))
        width = self.values[operand].shape[-1]
        recurrent = (
            nn.LSTM(width, 4, batch_first=True), nn.RNN(width, 4, batch_first=True),
            nn.GRU(width, 8, batch_first=True, bidirectional=True),
        )  # fmt: skip
        chosen = self.below(5)
        if chosen < len(recurrent):
            self.layer(recurrent[chosen], operand, lambda x: x[0])
        elif chosen == 3:
            self.layer(nn.TransformerEncoderLayer(width, 2, 16, batch_first=True), operand)
        else:
            self.add(lambda x: x.mT, operand)
            self.layer(nn.Conv1d(width, 8, 3, padding=1), len(self.values) - 1, lambda x: x.mT)

    def image(self) -> None:
        def fits(x: Any) -> bool:
            return x.dim() == 4 and x.shape[1] in WIDTHS and min(x.shape[2:]) > 5

        operand = self.value(fits)
        width, taps, stride = self.values[operand].shape[1], 1 + self.below(3), 1 + self.below(2)
        layers = (
            nn.Conv2d(width, 8, taps, stride, padding=taps // 2, dilation=1 + self.below(2)),
            nn.Conv2d(width, width, taps, stride, padding=1, groups=width),
            nn.Conv2d(width, 4, (1, 3), padding=(0, 1), padding_mode="circular"),
            nn.ConvTranspose2d(width, 4, taps + 1, stride), nn.MaxPool2d(taps, stride, taps // 2),
            nn.AvgPool2d(taps, stride, taps // 2, ceil_mode=stride > 1), nn.LPPool2d(2, 2),
            nn.BatchNorm2d(width), nn.InstanceNorm2d(width), nn.GroupNorm(1, width),
            nn.PReLU(width), nn.AdaptiveAvgPool2d(stride), nn.MaxPool2d(3, 2, ceil_mode=True),
        )  # fmt: skip
        chosen = self.below(len(layers) + len(PLANES))
        if chosen < len(layers):
            self.layer(layers[chosen], operand)
        else:
            step = PLANES[chosen - len(layers)]
            way = self.pick(("nearest", "bilinear", "bicubic", "area", "nearest-exact"))
            self.add(lambda x: step(x, way), operand)

    def grow(self, count: int) -> Steps:
        """A module of so many steps, the last of which is a result, and one other."""
        ways = (self.elementwise, self.pair, self.along, self.reduced, self.part, self.view,
                self.product, self.dense, self.text, self.image, self.image)  # fmt: skip
        given, tries = len(self.values), 100
        while len(self.module.steps) < count and (tries := tries - 1):
            try:
                self.pick(ways)()
            except (RuntimeError, IndexError, ValueError):  # nothing that the step takes
                continue
        last = len(self.values) - 1
        self.module.results = tuple(sorted({last, given + self.below(len(self.module.steps))}))
        return self.module.eval()
