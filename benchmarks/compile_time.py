"""Time to compile: tiny functions, a large kernel, and whole networks by stage.

    python benchmarks/compile_time.py [--networks [part of a name ...]]
    python benchmarks/compile_time.py --core [part of a name or model.onnx ...]

The second figure of each line is processor time, which other programs disturb less. Asked are 15 ms
for the tiny function, 3 ms when its object is in the cache, and 150 ms for the kernel.

Networks are made here, with random weights, and each is compiled by processes of its own: cold with
an empty cache, again unchanged, and again with one layer changed; then once with the stages timed,
in seconds of the processor without any cache.
`TVM_COMPILE_WORKERS=0` leaves one core. Asked of each are 8 s cold, 0.3 s and the time to write the
file unchanged, and 1 s with one layer changed.

`--core` compiles networks, or files, by plain Python and by the compiled core (`make core`) in
turn, without any cache, and compares the libraries.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import tvm
from tvm import te

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

ROUNDS = 15
CORE_ROUNDS = 3


def tiny(length: int) -> tvm.IRModule:
    """One addition for each element."""
    a = te.placeholder((length,), "float32", "a")
    b = te.compute((length,), lambda i: a[i] + 1.0, "b")
    return tvm.IRModule.from_expr(te.create_prim_func([a, b]))


def matmul(length: int) -> tvm.IRModule:
    """A matrix product with an unrolled register tile of 6 x 64."""
    a = te.placeholder((length, length), "float32", "a")
    b = te.placeholder((length, length), "float32", "b")
    k = te.reduce_axis((0, length), "k")
    c = te.compute((length, length), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "c")
    sch = tvm.tir.Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("c")
    i, j, k_loop = sch.get_loops(block)
    rows, row = sch.split(i, [None, 6])
    columns, column, lane = sch.split(j, [None, 4, 16])
    sch.reorder(rows, columns, k_loop, row, column, lane)
    sch.vectorize(lane)
    for loop in (row, column):
        sch.unroll(loop)
    return sch.mod


def times(make: Callable[[int], tvm.IRModule], lengths: list[int]) -> list[tuple[float, float]]:
    """Wall and processor time of each compilation, in milliseconds."""
    found = []
    for length in lengths:
        mod = make(length)
        wall, cpu = time.perf_counter(), time.process_time()
        tvm.compile(mod, target="llvm")
        found.append(((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3))
    return found


def report(name: str, found: list[tuple[float, float]]) -> None:
    wall, cpu = zip(*found)
    print(
        f"{name:34s} {min(wall):7.1f} ms (median {statistics.median(wall):7.1f}), "
        f"processor {min(cpu):7.1f} ms (median {statistics.median(cpu):7.1f})"
    )


def instructions(mod: tvm.IRModule) -> int:
    """How many LLVM instructions a module has."""
    lines = tvm.compile(mod, target="llvm").inspect_source().splitlines()
    return sum(line.startswith("  ") for line in lines)


# --- whole networks ---


class Pictures:
    """Builds the ONNX graph of a network on one picture, layer by layer."""

    def __init__(self, side: int) -> None:
        from onnx import TensorProto, helper

        self.rng = np.random.default_rng(0)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, side, side])
        self.channels: dict[str, int] = {"x": 3}

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.channels[name] = self.channels[inputs[0]]
        return name

    def weight(self, *shape: int) -> str:
        from onnx import numpy_helper

        values = (self.rng.standard_normal(shape) * 0.05).astype("float32")
        self.weights.append(numpy_helper.from_array(values, f"w{len(self.weights)}"))
        return f"w{len(self.weights) - 1}"

    def conv(self, x: str, out: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> str:
        weight = self.weight(out, self.channels[x] // groups, kernel, kernel)
        made = self.node(
            "Conv", x, weight, self.weight(out), kernel_shape=[kernel] * 2, strides=[stride] * 2,
            pads=[kernel // 2] * 4, group=groups,
        )  # fmt: skip
        self.channels[made] = out
        return made

    def model(self, x: str, path: Path) -> None:
        import onnx
        from onnx import TensorProto, helper

        flat = self.node("Flatten", self.node("GlobalAveragePool", x))
        y = self.node("Gemm", flat, self.weight(self.channels[x], 1000), self.weight(1000))
        output = helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, 1000])
        graph = helper.make_graph(self.nodes, "pictures", [self.input], [output], self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.save(made, str(path))


def resnet50(path: Path, changed: bool) -> None:
    """Bottlenecks of (3, 4, 6, 3) layers; the changed one has a wider layer in the last."""
    net = Pictures(224)
    x = net.node("Relu", net.conv("x", 64, 7, 2))
    x = net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage, count in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for layer in range(count):
            stride = 2 if stage and not layer else 1
            inner = width + 64 * (changed and (stage, layer) == (3, 2))
            y = net.node("Relu", net.conv(x, inner))
            y = net.node("Relu", net.conv(y, width, 3, stride))
            y = net.conv(y, 4 * width)
            short = x if layer else net.conv(x, 4 * width, 1, stride)
            x = net.node("Relu", net.node("Add", y, short))
    net.model(x, path)


def mobilenet_v2(path: Path, changed: bool) -> None:
    """Inverted residuals; the changed one has a wider layer before the last."""
    net = Pictures(224)

    def clipped(x: str) -> str:
        return net.node("Clip", x, "low", "high")

    from onnx import numpy_helper

    for name, value in (("low", 0.0), ("high", 6.0)):
        net.weights.append(numpy_helper.from_array(np.array(value, "float32"), name))
    x = clipped(net.conv("x", 32, 3, 2))
    rows = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
            (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip
    for factor, out, count, stride in rows:
        for layer in range(count):
            wide = net.channels[x] * factor
            y = x if factor == 1 else clipped(net.conv(x, wide))
            y = clipped(net.conv(y, wide, 3, 1 if layer else stride, wide))
            y = net.conv(y, out)
            x = net.node("Add", x, y) if layer else y
    net.model(clipped(net.conv(x, 1280 + 64 * changed)), path)


def encoder(layers: int, width: int, causal: bool) -> Callable[[Path, bool], None]:
    """An encoder on 128 tokens; the changed one has one layer more."""

    def write(path: Path, changed: bool) -> None:
        import onnx

        from benchmarks.transformer import Encoder, Size

        size = Size(layers + changed, width, width // 64, 1, 128, causal)
        onnx.save(Encoder(size, 1, 128).model(), str(path))

    return write


def recogniser(path: Path, changed: bool) -> None:
    """The text recogniser that rapidocr-onnxruntime ships, every size open; it is never changed."""
    from benchmarks.shipped import shipped

    shipped("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx")(path)


def perceptron(path: Path, changed: bool) -> None:
    """Three layers; the changed one has a wider layer before the last."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    sizes = [64, 128, 80 if changed else 64, 10]
    rng = np.random.default_rng(0)
    nodes, weights, x = [], [], "x"
    for i, (wide, out) in enumerate(itertools.pairwise(sizes)):
        for name, shape in ((f"w{i}", (wide, out)), (f"b{i}", (out,))):
            values = rng.standard_normal(shape).astype("float32")
            weights.append(numpy_helper.from_array(values, name))
        nodes.append(helper.make_node("Gemm", [x, f"w{i}", f"b{i}"], [f"g{i}"]))
        x = f"g{i}"
        if out != sizes[-1]:
            nodes.append(helper.make_node("Relu", [x], [f"r{i}"]))
            x = f"r{i}"
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])]
        for name, size in (("x", sizes[0]), (x, sizes[-1]))
    )
    graph = helper.make_graph(nodes, "perceptron", inputs, outputs, weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, str(path))


NETWORKS: dict[str, Callable[[Path, bool], None]] = {
    "three layers": perceptron,
    "resnet50": resnet50,
    "mobilenet_v2": mobilenet_v2,
    "bert base": encoder(12, 768, False),
    "gpt2 form": encoder(12, 768, True),
    "encoder of 12 layers": encoder(12, 128, False),
    "encoder of 96 layers": encoder(96, 128, False),
    "text recogniser": recogniser,
}


def stages_of(path: str) -> dict[str, float]:
    """Processor seconds of each stage of compiling a file, in this process."""
    from tvm.exec.onnx_file import load_model
    from tvm.relax.frontend.onnx import from_onnx

    mod, watch = from_onnx(load_model(Path(path))), _Stages()
    with tvm.transform.PassContext(instruments=[watch]):
        start = time.process_time()
        tvm.compile(mod, target="llvm")
        whole = time.process_time() - start
    rest = whole - sum(watch.seconds.values())
    return {**watch.seconds, "code, LLVM and the rest": rest, "processor": time.process_time()}


class _Stages:
    """Seconds inside passes, those inside others taken off."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[list[Any]] = []

    def enter_pass_ctx(self) -> None: ...

    def exit_pass_ctx(self) -> None: ...

    def should_run(self, mod: Any, info: Any) -> bool:
        return True

    def run_before_pass(self, mod: Any, info: Any) -> None:
        self._open.append([time.process_time(), 0.0])

    def run_after_pass(self, mod: Any, info: Any) -> None:
        start, inside = self._open.pop()
        took = time.process_time() - start
        if self._open:
            self._open[-1][1] += took
        name = {"LegalizeOps": "legalise", "ApplyDefaultSchedule": "schedule"}.get(
            info.name, "tir passes" if info.name.startswith("tir.") else "relax passes"
        )
        self.seconds[name] = self.seconds.get(name, 0.0) + took - inside


def networks(parts: Sequence[str]) -> None:
    """A line for each state of each network, and its stages."""
    for name, write in NETWORKS.items():
        if not any(part in name for part in parts or [""]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path, other = Path(folder) / "net.onnx", Path(folder) / "other.onnx"
            try:
                write(path, False)
                write(other, True)
            except (AssertionError, ImportError) as err:
                print(f"{name}: not made: {err}")
                continue
            environment = os.environ | {"TVM_CACHE_DIR": str(Path(folder) / "cache")}
            for label, file in (("cold", path), ("unchanged", path), ("one changed", other)):
                if label != "one changed" or write is not recogniser:
                    _show(name, label, _command(file, environment))
            _show(name, "stages", _apart(path, environment | {"TVM_CACHE": "0"}))


def cores(words: Sequence[str]) -> None:
    """A line for each network: processor seconds by plain Python and by the compiled core."""
    files = [Path(word).resolve() for word in words if word.endswith(".onnx")]
    parts = [word for word in words if not word.endswith(".onnx")]
    with tempfile.TemporaryDirectory() as folder:
        for name, write in NETWORKS.items():
            if any(part in name for part in parts) or not words:
                path = Path(folder) / f"{name}.onnx"
                write(path, False)
                files.append(path)
        for path in files:
            used: dict[str, list[float]] = {"0": [], "1": []}
            made: set[bytes] = set()
            output = Path(folder) / "made.so"
            for _ in range(CORE_ROUNDS):
                for core, seconds in used.items():
                    environment = os.environ | {"TVM_CACHE": "0", "TVM_CORE": core}
                    seconds.append(_command(path, environment, output)["processor"])
                    made.add(sha256(output.read_bytes()).digest())
            shown = {"plain Python": min(used["0"]), "compiled core": min(used["1"])}
            _show(path.stem, "one library" if len(made) == 1 else "DIFFERENT", shown)


def _command(
    path: Path, environment: dict[str, str], output: Path | None = None
) -> dict[str, float]:
    """Seconds of `tvm compile` as a whole, and as it tells itself; its processor time."""
    target = str(output or path.with_suffix(".so"))
    command = [sys.executable, "-m", "tvm", "compile", str(path), "-o", target, "--json"]
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    whole, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    told = json.loads(done.stdout.splitlines()[-1])["seconds"]
    return {"whole": whole, **told, "processor": used}


def _apart(path: Path, environment: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, __file__, "--stages", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _show(name: str, label: str, seconds: dict[str, float]) -> None:
    shown = ", ".join(f"{part} {took:.2f}" for part, took in seconds.items())
    print(f"{name:22s} {label:12s} {shown} s", flush=True)


def main(words: Sequence[str]) -> None:
    if words and words[0] == "--stages":
        print(json.dumps(stages_of(words[1])))
        return
    if words and words[0] == "--networks":
        networks(words[1:])
        return
    if words and words[0] == "--core":
        cores(words[1:])
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TVM_CACHE_DIR"] = folder
        tvm.compile(tiny(7), target="llvm")  # loads LLVM
        report("tiny function, cold", times(tiny, [1000 + i for i in range(ROUNDS)]))
        report("tiny function, cached", times(tiny, [1000 + i for i in range(ROUNDS)]))
        lengths = [192 * (i + 2) for i in range(ROUNDS)]
        count = instructions(matmul(192))
        report(f"kernel of {count} instructions, cold", times(matmul, lengths))
        report("kernel, cached", times(matmul, lengths))


if __name__ == "__main__":
    main(sys.argv[1:])
