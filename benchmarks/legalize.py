"""How long operators take to become kernels: LegalizeOps of a ResNet-50.

    python benchmarks/legalize.py [runs]

The network (He et al., 2015) is built with the block builder; weights are parameters.
"""

from __future__ import annotations

import statistics
import sys
import time

from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op

STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))


class Network:
    """The bindings of a network, and the parameters that they read."""

    def __init__(self) -> None:
        self.bb = relax.BlockBuilder()
        self.params: list[relax.Var] = []

    def param(self, *shape: int) -> relax.Var:
        info = relax.TensorStructInfo(shape, "float32")
        self.params.append(relax.Var(f"p{len(self.params)}", info))
        return self.params[-1]

    def conv(self, x: relax.Expr, out: int, size: int, stride: int = 1) -> relax.Var:
        channels = int(x.struct_info.shape[1])
        weight = self.param(out, channels, size, size)
        y = self.bb.emit(op.nn.conv2d(x, weight, strides=stride, padding=size // 2))
        norm = op.nn.batch_norm(y, *(self.param(out) for _ in range(4)), axis=1, training=False)
        return self.bb.emit(self.bb.emit(norm)[0])

    def relu(self, x: relax.Expr) -> relax.Var:
        return self.bb.emit(op.nn.relu(x))

    def bottleneck(self, x: relax.Var, width: int, stride: int) -> relax.Var:
        short = x
        if stride != 1 or int(x.struct_info.shape[1]) != 4 * width:
            short = self.conv(x, 4 * width, 1, stride)
        y = self.relu(self.conv(x, width, 1))
        y = self.relu(self.conv(y, width, 3, stride))
        return self.relu(self.bb.emit(op.add(self.conv(y, 4 * width, 1), short)))


def resnet50(batch: int = 1) -> IRModule:
    """The module, one function `main` of the image and the weights."""
    net = Network()
    x = relax.Var("x", relax.TensorStructInfo((batch, 3, 224, 224), "float32"))
    with net.bb.function("main"):
        with net.bb.dataflow():
            y = net.relu(net.conv(x, 64, 7, 2))
            y = net.bb.emit(op.nn.max_pool2d(y, (3, 3), (2, 2), (1, 1)))
            for blocks, width, stride in STAGES:
                for i in range(blocks):
                    y = net.bottleneck(y, width, stride if i == 0 else 1)
            y = net.bb.emit(op.nn.adaptive_avg_pool2d(y, (1, 1)))
            y = net.bb.emit(op.reshape(y, (batch, 2048)))
            y = net.bb.emit(op.matmul(y, net.param(2048, 1000)))
            out = net.bb.emit_output(op.add(y, net.param(1000)))
        net.bb.emit_func_output(out, [x, *net.params])
    return net.bb.get()


def main(runs: int) -> None:
    mod = resnet50()
    bindings = sum(len(block.bindings) for block in mod["main"].body.blocks)
    times, busy = [], []
    for _ in range(runs):
        start, before = time.perf_counter(), time.process_time()
        legal = relax.transform.LegalizeOps()(mod)
        times.append(time.perf_counter() - start)
        busy.append(time.process_time() - before)
    print(f"ResNet-50: {bindings} bindings become {len(legal.functions) - 1} kernels")
    print(
        f"  LegalizeOps, {runs} runs: first {times[0]:.2f} s, least {min(times):.2f} s, "
        f"median {statistics.median(times):.2f} s; of the processor {min(busy):.2f} s, "
        f"median {statistics.median(busy):.2f} s"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
