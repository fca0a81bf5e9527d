"""Networks of torch.nn with fixed weights, and inputs for each."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn
F = nn.functional


class Residual(nn.Module):
    """Two convolutions beside a shortcut, as in ResNet-18."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut: Any = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Any) -> Any:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += self.shortcut(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        widths = ((8, 8, 1), (8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 32, 2), (32, 32, 1))
        self.stages = nn.Sequential(*(Residual(*w) for w in widths))
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.head = nn.Linear(32, 10)

    def forward(self, x: Any) -> Any:
        return self.head(torch.flatten(self.pool(self.stages(self.stem(x))), 1))


class Inverted(nn.Module):
    """Wide, depthwise, narrow, as in MobileNetV2."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        wide = 4 * inputs
        self.add = stride == 1 and inputs == outputs
        self.body = nn.Sequential(
            nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(inplace=True),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide),
            nn.Hardswish(), nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        return x + self.body(x) if self.add else self.body(x)


class MobileNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU6())
        self.body = nn.Sequential(Inverted(8, 8, 1), Inverted(8, 12, 2), Inverted(12, 12, 1))
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(12, 5))

    def forward(self, x: Any) -> Any:
        return self.head(self.body(self.stem(x)).mean([2, 3]))


class VisionBlock(nn.Module):
    """Patches, attention and a perceptron: one block of a vision transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 16))
        self.place = nn.Parameter(torch.randn(1, 17, 16))
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x: Any) -> Any:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.place
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return (x + self.mlp(self.norm2(x)))[:, 0]


class DecoderLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any, mask: Any) -> Any:
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(c, dim=2)
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v))
        scores = q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5
        scores = scores.masked_fill(mask[:, None, :, :] == 0, float("-inf"))
        y = (F.softmax(scores, -1) @ v).transpose(1, 2).contiguous().view(b, t, c)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Decoder(nn.Module):
    """A small GPT with tied embeddings; the mask is causal, and of the tokens given."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.layers = nn.ModuleList([DecoderLayer(16, 4) for _ in range(2)])
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.token.weight
        self.register_buffer("causal", torch.tril(torch.ones(32, 32)), persistent=False)

    def forward(self, tokens: Any, held: Any) -> Any:
        t = tokens.shape[1]
        x = self.token(tokens) + self.place(torch.arange(t, device=tokens.device))
        mask = self.causal[:t, :t] * held[:, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.norm(x))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(20, 6)
        self.lstm = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(10, 4, batch_first=True)
        self.head = nn.Linear(4, 3)

    def forward(self, tokens: Any) -> Any:
        outputs, (hidden, cell) = self.lstm(self.token(tokens))
        made, last = self.gru(outputs)
        return F.log_softmax(self.head(made[:, -1]), -1), hidden, cell, last


class UNet(nn.Module):
    """Down, and up again with what was on the way."""

    def __init__(self) -> None:
        super().__init__()

        def block(inputs: int, outputs: int) -> Any:
            return nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(2, outputs), nn.SiLU(),
            )  # fmt: skip

        self.down1, self.down2 = block(3, 8), block(8, 16)
        self.middle = block(16, 16)
        self.up2 = nn.ConvTranspose2d(16, 16, 2, 2)
        self.join2, self.join1 = block(32, 8), block(16, 8)
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x: Any) -> Any:
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        y = self.middle(F.avg_pool2d(b, 2))
        y = self.join2(torch.cat([self.up2(y), b], 1))
        y = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.head(self.join1(torch.cat([y, a], 1))))


def network(name: str) -> tuple[Any, tuple[Any, ...]]:
    """A network in evaluation mode, and inputs, always with the same numbers."""
    torch.manual_seed(0)
    picture = torch.randn(2, 3, 16, 16)
    tokens = torch.randint(0, 20, (2, 7))
    made: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "resnet": (ResNet, (torch.randn(2, 3, 32, 32),)),
        "mobilenet": (MobileNet, (picture,)),
        "vision": (VisionBlock, (picture,)),
        "decoder": (Decoder, (tokens, (torch.arange(7) < 6).float().repeat(2, 1))),
        "recurrent": (Recurrent, (tokens,)),
        "unet": (UNet, (picture,)),
    }
    kind, inputs = made[name]
    model = kind().eval()
    with torch.no_grad():
        for buffer_name, buffer in model.named_buffers():
            if "running_var" in buffer_name:
                buffer.uniform_(0.5, 1.5)
            elif "running_mean" in buffer_name:
                buffer.normal_()
    return model, inputs


NAMES = ("resnet", "mobilenet", "vision", "decoder", "recurrent", "unet")
