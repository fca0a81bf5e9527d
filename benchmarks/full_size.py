"""Networks at the sizes they are used at, random weights, written for `benchmarks.vs_peers`.

    python -m benchmarks.full_size FOLDER [part of a name ...]
    TVM_NUM_THREADS=1 python -m benchmarks.vs_peers --files FOLDER [part of a name ...]

The first needs torch, torchvision and transformers (it writes what is not there); the second reads
the files. All sizes are known, the batch is 1 unless the name says 8.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

Made = tuple[Callable[[], Any], Callable[[], Sequence[Any]]]


def picture(name: str, side: int = 224, batch: int = 1) -> Made:
    """A classifier of torchvision."""

    def make() -> Any:
        import torchvision

        return getattr(torchvision.models, name)(weights=None)

    return make, lambda: [_normal(batch, 3, side, side)]


def transformer(kind: str, config: str, inputs: Callable[[], Sequence[Any]], part: str = "",
                key: str = "input_ids", **options: Any) -> Made:  # fmt: skip
    """A network of transformers that takes one tensor and gives its first result."""

    def make() -> Any:
        import transformers
        from torch import nn

        made = getattr(transformers, kind)(getattr(transformers, config)(**options))

        class First(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = getattr(made, part) if part else made

            def forward(self, x: Any) -> Any:
                return self.inner(**{key: x})[0]

        return First()

    return make, inputs


def unet() -> Any:
    """Ronneberger et al., "U-Net", 2015, with padding, four levels from 32 channels."""
    import torch
    from torch import nn

    def pair(ins: int, outs: int) -> Any:
        layers = []
        for channels in (ins, outs):
            layers += [nn.Conv2d(channels, outs, 3, padding=1), nn.BatchNorm2d(outs), nn.ReLU()]
        return nn.Sequential(*layers)

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            sizes = [3, 32, 64, 128, 256]
            self.down = nn.ModuleList(pair(a, b) for a, b in pairwise(sizes))
            self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * c, c, 2, 2) for c in (128, 64, 32))
            self.up = nn.ModuleList(pair(2 * c, c) for c in (128, 64, 32))
            self.last = nn.Conv2d(32, 2, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for i, block in enumerate(self.down):
                x = block(x if i == 0 else nn.functional.max_pool2d(x, 2))
                kept.append(x)
            for grow, block, left in zip(self.grow, self.up, reversed(kept[:-1])):
                x = block(torch.cat([left, grow(x)], 1))
            return self.last(x)

    return UNet()


def detector() -> Any:
    """The form of one-stage detectors: cross-stage blocks, a pyramid, three heads.

    (Wang et al., "CSPNet", 2020; Lin et al., "Feature Pyramid Networks", 2017.)
    """
    import torch
    from torch import nn

    def conv(ins: int, outs: int, kernel: int = 1, step: int = 1) -> Any:
        return nn.Sequential(
            nn.Conv2d(ins, outs, kernel, step, kernel // 2, bias=False), nn.BatchNorm2d(outs),
            nn.SiLU(),
        )  # fmt: skip

    class Stage(nn.Module):
        def __init__(self, ins: int, outs: int, count: int) -> None:
            super().__init__()
            self.split, half = conv(ins, outs), outs // 2
            self.blocks = nn.ModuleList(
                nn.Sequential(conv(half, half, 3), conv(half, half, 3)) for _ in range(count)
            )
            self.join = conv((count + 2) * half, outs)

        def forward(self, x: Any) -> Any:
            parts = list(self.split(x).chunk(2, 1))
            for block in self.blocks:
                parts.append(parts[-1] + block(parts[-1]))
            return self.join(torch.cat(parts, 1))

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2), Stage(32, 32, 1))
            self.c3 = nn.Sequential(conv(32, 64, 3, 2), Stage(64, 64, 2))
            self.c4 = nn.Sequential(conv(64, 128, 3, 2), Stage(128, 128, 2))
            self.c5 = nn.Sequential(conv(128, 256, 3, 2), Stage(256, 256, 1))
            self.p4, self.p3 = Stage(384, 128, 1), Stage(192, 64, 1)
            self.heads = nn.ModuleList(
                nn.Sequential(conv(c, 64, 3), conv(64, 64, 3), nn.Conv2d(64, 144, 1))
                for c in (64, 128, 256)
            )
            self.grow = nn.Upsample(scale_factor=2, mode="nearest")

        def forward(self, x: Any) -> Any:
            c3 = self.c3(self.stem(x))
            c4 = self.c4(c3)
            c5 = self.c5(c4)
            p4 = self.p4(torch.cat([self.grow(c5), c4], 1))
            p3 = self.p3(torch.cat([self.grow(p4), c3], 1))
            made = [head(p).flatten(2) for head, p in zip(self.heads, (p3, p4, c5))]
            return torch.cat(made, 2).sigmoid()

    return Detector()


def recurrent() -> Any:
    """Two layers of LSTM over frames, and a classifier of the last."""
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers, self.head = nn.LSTM(80, 256, 2, batch_first=True), nn.Linear(256, 32)

        def forward(self, x: Any) -> Any:
            return self.head(self.layers(x)[0][:, -1])

    return Net()


def sound() -> Any:
    """Convolutions along a wave, as in recognisers of words."""
    from torch import nn

    layers: list[Any] = [nn.Conv1d(1, 64, 80, 4), nn.BatchNorm1d(64), nn.ReLU(), nn.MaxPool1d(4)]
    for ins, outs in ((64, 64), (64, 128), (128, 256), (256, 512)):
        layers += [nn.Conv1d(ins, outs, 3, padding=1), nn.BatchNorm1d(outs), nn.ReLU(),
                   nn.MaxPool1d(4)]  # fmt: skip
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(512, 35))


def perceptron() -> Any:
    """Three layers, a batch of 32."""
    from torch import nn

    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                         nn.Linear(512, 10))  # fmt: skip


def _normal(*shape: int) -> Any:
    import torch

    return torch.randn(*shape)


def _tokens(*shape: int) -> Any:
    import torch

    return torch.randint(0, 1000, shape)


NETWORKS: Mapping[str, Made] = {
    "resnet18": picture("resnet18"),
    "resnet50": picture("resnet50"),
    "resnet50 batch 8": picture("resnet50", batch=8),
    "mobilenet_v2": picture("mobilenet_v2"),
    "mobilenet_v2 batch 8": picture("mobilenet_v2", batch=8),
    "mobilenet_v3_large": picture("mobilenet_v3_large"),
    "efficientnet_b0": picture("efficientnet_b0"),
    "convnext_tiny": picture("convnext_tiny"),
    "vit_b_16": picture("vit_b_16"),
    "swin_t": picture("swin_t"),
    "unet 256": (unet, lambda: [_normal(1, 3, 256, 256)]),
    "detector 320": (detector, lambda: [_normal(1, 3, 320, 320)]),
    "bert base 128": transformer("BertModel", "BertConfig", lambda: [_tokens(1, 128)]),
    "distilbert 128": transformer("DistilBertModel", "DistilBertConfig",
                                  lambda: [_tokens(1, 128)]),
    "gpt2 64": transformer("GPT2LMHeadModel", "GPT2Config", lambda: [_tokens(1, 64)],
                           use_cache=False),
    "t5 encoder 128": transformer("T5EncoderModel", "T5Config", lambda: [_tokens(1, 128)]),
    "whisper encoder": transformer("WhisperModel", "WhisperConfig",
                                   lambda: [_normal(1, 80, 3000)], "encoder", "input_features",
                                   encoder_layers=4, d_model=384, encoder_attention_heads=6,
                                   encoder_ffn_dim=1536),
    "lstm 100": (recurrent, lambda: [_normal(1, 100, 80)]),
    "audio 16000": (sound, lambda: [_normal(1, 1, 16000)]),
    "perceptron batch 32": (perceptron, lambda: [_normal(32, 784)]),
}  # fmt: skip


def main(folder: str, *parts: str) -> None:
    """Write the networks whose names hold one of the parts."""
    import torch

    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, (make, inputs) in NETWORKS.items():
        path = Path(folder) / f"{name.replace(' ', '_')}.onnx"
        if path.exists() or (parts and not any(part in name for part in parts)):
            continue
        torch.manual_seed(0)
        module, given = make().eval(), tuple(inputs())
        newer = name.startswith("gpt2")  # its mask has no form in the other exporter
        torch.onnx.export(module, given, str(path), opset_version=18, dynamo=newer,
                          external_data=False)  # fmt: skip
        print(name, path.stat().st_size >> 20, "MB", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
