"""Networks of `keras.applications`, compiled by JAX's own compiler and by ours from StableHLO.

    pip install "keras>=3" "jax[cpu]"
    TVM_NUM_THREADS=1 python -m benchmarks.jax_networks MobileNetV2 ResNet50

Both run on one thread; the figures are processor times in milliseconds, the least of several.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np

import tvm
from tvm import relax
from tvm.relax.frontend.stablehlo import from_stablehlo

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
NETWORKS = ("MobileNetV2", "MobileNetV3Small", "EfficientNetB0", "ResNet50", "ConvNeXtTiny",
            "DenseNet121", "Xception")  # fmt: skip
ROUNDS = 6


def seconds(call: Callable[[], object]) -> float:
    """Processor time of a call."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def compare(name: str, size: int) -> None:
    """Import, compile, compare the results, and time a network on one square picture."""
    # Keras and XLA read these when they are imported
    os.environ.setdefault("KERAS_BACKEND", "jax")
    os.environ.setdefault("XLA_FLAGS", ONE_THREAD)
    import jax
    import keras

    keras.utils.set_random_seed(0)
    model = getattr(keras.applications, name)(
        weights=None, input_shape=(size, size, 3), classifier_activation=None
    )
    theirs = jax.jit(lambda x: model(x, training=False))
    x = np.random.default_rng(0).standard_normal((1, size, size, 3)).astype("float32")
    expected = np.asarray(theirs(x))
    lowered = theirs.lower(x).compiler_ir(dialect="stablehlo")
    begun = time.process_time()
    module = from_stablehlo(lowered)
    imported = time.process_time()
    vm = relax.VirtualMachine(tvm.compile(module, "llvm -num-cores=1"), tvm.cpu())
    compiled = time.process_time()
    tensor = tvm.runtime.tensor(x)
    found = vm["main"](tensor)
    found = (found if isinstance(found, tvm.runtime.Tensor) else found[0]).numpy()
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    ours, jaxs = (
        min(seconds(call) for _ in range(ROUNDS))
        for call in (lambda: vm["main"](tensor), lambda: theirs(x).block_until_ready())
    )
    print(
        f"{name:18s} {ours * 1e3:7.1f} ms, JAX {jaxs * 1e3:7.1f}: {ours / jaxs:.2f}; "
        f"relative error {error:.1e}; "
        f"import {imported - begun:.1f} s, compile {compiled - imported:.1f} s",
        flush=True,
    )


def main() -> None:
    """Compare the networks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NETWORKS)
    parser.add_argument("--size", type=int, default=224, help="of the picture")
    options = parser.parse_args()
    for name in options.names:
        compare(name, options.size)


if __name__ == "__main__":
    main()
