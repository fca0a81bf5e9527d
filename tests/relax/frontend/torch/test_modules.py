"""Modules of torch.nn in traced graphs, against torch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.error import OpAttributeUnImplemented
from tvm.relax.frontend.torch import from_fx
from tvm.relax.frontend.torch.registry import modules

from .running import assert_same, interpreted

torch = pytest.importorskip("torch")
nn = torch.nn
IMAGE, ROWS, LINE, CUBE = (1, 4, 8, 6), (3, 4), (2, 4, 9), (1, 2, 4, 5, 6)

_OF_ROWS = (
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "Identity", "LeakyReLU", "LogSigmoid", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6",
    "SELU", "SiLU", "Sigmoid", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
    "Dropout",
)  # fmt: skip
MODULES: list[tuple[Any, tuple[Any, ...]]] = [
    *[(getattr(nn, name)(), (ROWS,)) for name in _OF_ROWS],
    *[(kind(dim=1), (ROWS,)) for kind in (nn.Softmax, nn.LogSoftmax, nn.Softmin)],
    *[(kind(), (ROWS, ROWS)) for kind in (nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss)],
    (nn.Softmax2d(), (IMAGE,)), (nn.Threshold(0.1, 2.0), (ROWS,)),
    (nn.AdaptiveAvgPool1d(3), (LINE,)), (nn.AdaptiveAvgPool2d((2, 3)), (IMAGE,)),
    (nn.AdaptiveAvgPool3d(2), (CUBE,)), (nn.AdaptiveMaxPool1d(3), (LINE,)),
    (nn.AdaptiveMaxPool2d(2), (IMAGE,)), (nn.AvgPool1d(3), (LINE,)),
    (nn.AvgPool2d(3, 2, 1), (IMAGE,)), (nn.AvgPool3d(2), (CUBE,)), (nn.LPPool2d(2, 2), (IMAGE,)),
    (nn.MaxPool1d(3), (LINE,)), (nn.MaxPool2d(3, 2, 1), (IMAGE,)), (nn.MaxPool3d(2), (CUBE,)),
    (nn.BatchNorm1d(4), (ROWS,)), (nn.BatchNorm2d(4), (IMAGE,)), (nn.BatchNorm3d(2), (CUBE,)),
    (nn.InstanceNorm2d(4, affine=True), (IMAGE,)), (nn.GroupNorm(2, 4), (IMAGE,)),
    (nn.LayerNorm(4), (ROWS,)), (nn.RMSNorm(4), (ROWS,)), (nn.LocalResponseNorm(2), (IMAGE,)),
    (nn.Linear(4, 5), (ROWS,)), (nn.Bilinear(4, 4, 2), (ROWS, ROWS)),
    (nn.Conv1d(4, 6, 3), (LINE,)), (nn.Conv2d(4, 6, 3, padding="same"), (IMAGE,)),
    (nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), (IMAGE,)),
    (nn.Conv3d(2, 3, 2), (CUBE,)), (nn.ConvTranspose1d(4, 6, 3, 2), (LINE,)),
    (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1), (IMAGE,)), (nn.ConvTranspose3d(2, 3, 2, 2), (CUBE,)),
    (nn.ChannelShuffle(2), (IMAGE,)), (nn.PixelShuffle(2), (IMAGE,)),
    (nn.PixelUnshuffle(2), (IMAGE,)), (nn.Flatten(), (IMAGE,)), (nn.Unflatten(1, (2, 2)), (ROWS,)),
    (nn.Unfold((2, 3)), (IMAGE,)), (nn.Fold((4, 5), 2), ((1, 8, 12),)),
    (nn.Upsample(scale_factor=2), (IMAGE,)), (nn.UpsamplingBilinear2d(size=(5, 7)), (IMAGE,)),
    (nn.ConstantPad1d(1, 2.0), (LINE,)), (nn.ZeroPad2d((1, 2, 0, 1)), (IMAGE,)),
    (nn.ReflectionPad2d(1), (IMAGE,)), (nn.ReplicationPad1d(2), (LINE,)),
    (nn.CircularPad2d(1), (IMAGE,)), (nn.CosineSimilarity(), (ROWS, ROWS)),
    (nn.BCEWithLogitsLoss(), (ROWS, ROWS)), (nn.LSTMCell(4, 5), (ROWS,)),
    (nn.GRUCell(4, 5), (ROWS,)), (nn.RNNCell(4, 5), (ROWS,)),
    (nn.LSTM(4, 5, 2, bidirectional=True, proj_size=3), ((6, 3, 4),)),
    (nn.GRU(4, 5, batch_first=True, bias=False), ((3, 6, 4),)), (nn.RNN(4, 5), ((6, 4),)),
    (nn.MultiheadAttention(8, 2), ((5, 2, 8),) * 3),
    (nn.MultiheadAttention(8, 2, kdim=4, vdim=6, batch_first=True),
     ((2, 5, 8), (2, 3, 4), (2, 3, 6))),
    (nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True), ((5, 2, 8),) * 3),
]  # fmt: skip


@pytest.mark.parametrize(("module", "shapes"), MODULES, ids=lambda value: type(value).__name__)
def test_numbers(module: Any, shapes: Any) -> None:
    torch.manual_seed(0)
    module = module.eval()
    args = [torch.randn(shape) for shape in shapes]
    names = ", ".join(f"x{i}" for i in range(len(args)))
    scope: dict[str, Any] = {}
    exec(f"def forward(self, {names}):\n    return self.module({names})", scope)
    outer = type("Outer", (nn.Module,), {"forward": scope["forward"]})()
    outer.module = module
    mod = from_fx(torch.fx.symbolic_trace(outer), [(arg.shape, arg.dtype) for arg in args])
    assert_same(interpreted(mod, args), module(*args))


@pytest.mark.parametrize(
    ("module", "target"),
    [(nn.CrossEntropyLoss(), "classes"), (nn.NLLLoss(), "classes"), (nn.BCELoss(), "chances"),
     (nn.KLDivLoss(), "chances"), (nn.SoftMarginLoss(), "chances")],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_losses(module: Any, target: str) -> None:
    torch.manual_seed(0)
    scores = torch.rand(3, 4)
    wanted = torch.tensor([0, 3, 1]) if target == "classes" else torch.rand(3, 4)

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loss = module

        def forward(self, x: Any, y: Any) -> Any:
            return self.loss(x, y)

    args = [scores, wanted]
    mod = from_fx(torch.fx.symbolic_trace(Outer()), [(arg.shape, arg.dtype) for arg in args])
    assert_same(interpreted(mod, args), module(*args))


def test_rows_that_would_be_shortened_in_place_are_refused() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(5, 3, max_norm=1.0)

        def forward(self, x: Any) -> Any:
            return self.table(x)

    with pytest.raises(OpAttributeUnImplemented, match="max_norm"):
        from_fx(torch.fx.symbolic_trace(Outer()), [((4,), "int64")])


def test_each_module_is_one_of_torch() -> None:
    for name in modules():
        assert hasattr(nn, name) or hasattr(nn.modules.linear, name), name
