"""Networks quantised by ONNX Runtime's tools and by ours, alternating, on one thread.

    python -m benchmarks.quantised [resnet50 mobilenet_v2 bert_base bert_base_dynamic lstm_dynamic]
        [--ours] [--open] [--rounds 12] [--target llvm]

Networks have random weights; `bert_base` has 128 tokens, already embedded, `lstm_dynamic` 100 steps
of 256 units. Columns: the shortest
processor time of ours and of ONNX Runtime on the same file; with --ours, also a network that
`tvm.relax.quantization` has quantised, beside ONNX Runtime on the file of its own tool. With
--open, batch and planes (or tokens) are symbols. `off`: the largest difference of results, over the
largest result.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TVM_NUM_THREADS", "1")

import numpy as np
import onnx
import onnxruntime

import tvm
from benchmarks.transformer import Encoder, Size
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.quantization import quantize
from tvm.runtime import tensor
from tvm.runtime.vm import VirtualMachine

SIDE, TOKENS, WIDTH = 224, 128, 768
STEPS, HIDDEN = 100, 256
Array = np.ndarray[Any, Any]


def inputs(name: str, count: int) -> list[Array]:
    """Noise."""
    shape: tuple[int, ...] = (1, TOKENS, WIDTH) if name.startswith("bert") else (1, 3, SIDE, SIDE)
    if name.startswith("lstm"):
        shape = STEPS, 1, HIDDEN
    return [np.random.default_rng(i).standard_normal(shape, "float32") for i in range(count)]


def _layer(inputs: int, outputs: int, size: int, step: int, groups: int, act: Any) -> Any:
    from torch import nn

    norm: Any = nn.BatchNorm2d(outputs)
    norm.running_var.uniform_(0.5, 1.5)
    nn.init.uniform_(norm.weight, 0.3, 0.8)
    made = [nn.Conv2d(inputs, outputs, size, step, size // 2, groups=groups, bias=False), norm]
    return nn.Sequential(*made, *([act()] if act else []))


def _sum(inner: Any, beside: Any, act: Any) -> Any:
    from torch import nn

    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.beside, self.act = inner, beside, act() if act else nn.Identity()

        def forward(self, x: Any) -> Any:
            return self.act(self.inner(x) + self.beside(x))

    return Sum()


def _headed(layers: Sequence[Any], channels: int) -> Any:
    from torch import nn

    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)
    ).eval()


def resnet50() -> Any:
    """Bottlenecks of three convolutions (He et al. 2015)."""
    from torch import nn

    layers, width = [_layer(3, 64, 7, 2, 1, nn.ReLU), nn.MaxPool2d(3, 2, 1)], 64
    for inner, count, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            step, out = first if i == 0 else 1, 4 * inner
            body = nn.Sequential(
                _layer(width, inner, 1, 1, 1, nn.ReLU), _layer(inner, inner, 3, step, 1, nn.ReLU),
                _layer(inner, out, 1, 1, 1, None),
            )  # fmt: skip
            beside = nn.Identity() if i else _layer(width, out, 1, step, 1, None)
            layers.append(_sum(body, beside, nn.ReLU))
            width = out
    return _headed(layers, width)


def mobilenet_v2() -> Any:
    """Inverted residuals (Sandler et al. 2018)."""
    from torch import nn

    act = nn.ReLU6
    layers, width = [_layer(3, 32, 3, 2, 1, act)], 32
    for wider, out, count, first in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):  # fmt: skip
        for i in range(count):
            step, inner = first if i == 0 else 1, width * wider
            body = nn.Sequential(
                *([_layer(width, inner, 1, 1, 1, act)] if wider > 1 else []),
                _layer(inner, inner, 3, step, inner, act), _layer(inner, out, 1, 1, 1, None),
            )  # fmt: skip
            same = step == 1 and width == out
            layers.append(_sum(body, nn.Identity(), None) if same else body)
            width = out
    return _headed([*layers, _layer(width, 1280, 1, 1, 1, act)], 1280)


PICTURES: dict[str, Callable[[], Any]] = {"resnet50": resnet50, "mobilenet_v2": mobilenet_v2}
NETWORKS = (*PICTURES, "bert_base", "bert_base_dynamic", "lstm_dynamic")


def recurrent(batch: int | str, steps: int | str) -> Any:
    """One layer of LSTM."""
    from onnx import TensorProto, helper, numpy_helper

    rng, rows = np.random.default_rng(0), 4 * HIDDEN
    weights = [
        numpy_helper.from_array(rng.uniform(-1, 1, shape).astype("float32") / HIDDEN**0.5, name)
        for name, shape in (
            ("w", (1, rows, HIDDEN)), ("r", (1, rows, HIDDEN)), ("b", (1, 2 * rows))
        )
    ]  # fmt: skip
    node = helper.make_node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=HIDDEN)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (
        ("x", [steps, batch, HIDDEN]), ("y", [steps, 1, batch, HIDDEN])
    ))  # fmt: skip
    graph = helper.make_graph([node], "lstm", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def in_float(name: str, path: Path, sizes_open: bool) -> None:
    """Write the network as a file."""
    import torch

    if name.startswith("lstm"):
        onnx.save(recurrent(*(("batch", "steps") if sizes_open else (1, STEPS))), str(path))
        return
    if name not in PICTURES:
        batch, length = ("batch", "length") if sizes_open else (1, TOKENS)
        size = Size(layers=12, width=WIDTH, heads=12, batch=1, length=TOKENS)
        onnx.save(Encoder(size, batch, length).model(), str(path))
        return
    torch.manual_seed(0)
    names = {"x": {0: "batch", 2: "height", 3: "width"}} if sizes_open else None
    network, x = PICTURES[name](), torch.from_numpy(inputs(name, 1)[0])
    with torch.no_grad():
        torch.onnx.export(network, (x,), str(path), input_names=["x"], opset_version=17,
                          dynamo=False, dynamic_axes=names)  # fmt: skip


def written(name: str, folder: Path, sizes_open: bool) -> tuple[Path, Path]:
    """The network as a file, and as quantised by ONNX Runtime's tools: QDQ, by channel."""
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantType,
        quantize_dynamic,
        quantize_static,
    )
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = [{"x": x} for x in inputs(name, 3)]

        def get_next(self) -> dict[str, Array] | None:
            return self.left.pop() if self.left else None

    first, plain, made = (folder / f"{name}{part}.onnx" for part in ("_first", "", "_int8"))
    in_float(name, first, sizes_open)
    quant_pre_process(str(first), str(plain), skip_symbolic_shape=True)
    if name.endswith("dynamic"):
        quantize_dynamic(str(plain), str(made), weight_type=QuantType.QInt8)
    else:
        quantize_static(str(plain), str(made), Reader(), per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)  # fmt: skip
    return plain, made


def ours(mod: tvm.IRModule, target: str) -> Callable[[Array], Array]:
    """The compiled module."""
    vm = VirtualMachine(tvm.compile(mod, target), tvm.cpu())

    def run(x: Array) -> Array:
        found = vm["main"](tensor(x))
        result: Array = (found if hasattr(found, "numpy") else found[0]).numpy()
        return result

    return run


def peer(path: Path) -> Callable[[Array], Array]:
    """ONNX Runtime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    return lambda x: session.run(None, {"x": x})[0]


def compared(
    label: str, x: Array, one: Callable[[Array], Array], path: Path, rounds: int
) -> None:
    """Print a line."""
    other = peer(path)
    times = [float("inf")] * 2
    for _ in range(rounds):
        for i, run in enumerate((one, other)):
            start = time.thread_time()  # not the time that other processes take
            run(x)
            times[i] = min(times[i], time.thread_time() - start)
    a, b = one(x), other(x)
    off = float(np.abs(a - b).max() / np.abs(b).max())
    print(f"| {label} | {times[0] * 1e3:.2f} | {times[1] * 1e3:.2f} | {times[0] / times[1]:.2f} "
          f"| {off:.3f} |", flush=True)  # fmt: skip


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--target", default="llvm")
    args = parser.parse_args()
    print("| network | ours, ms | ONNX Runtime, ms | ratio | off |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.networks:
            plain, made = written(name, Path(folder), args.open)
            x = inputs(name, 4)[3]
            run = ours(from_onnx(onnx.load(str(made))), args.target)
            compared(name, x, run, made, args.rounds)
            if args.ours:
                own = quantize(from_onnx(onnx.load(str(plain))), inputs(name, 3))
                label = f"{name}, by tvm.relax.quantization"
                compared(label, x, ours(own.mod, args.target), made, args.rounds)


if __name__ == "__main__":
    main()
