"""A batch norm that asks for the batch's statistics gets them in the compiled model."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("behind_conv", [False, True])
def test_compiled_as_interpreted(training: bool, behind_conv: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 4, 4)).astype("float32")
    data = relax.Var("x", relax.TensorStructInfo(x.shape, "float32"))
    stats = [relax.const(rng.uniform(0.5, 1.5, 3).astype("float32")) for _ in range(4)]
    weight = relax.const(rng.standard_normal((3, 3, 1, 1)).astype("float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [data]):
        with bb.dataflow():
            value = bb.emit(relax.op.nn.conv2d(data, weight)) if behind_conv else data
            norm = bb.emit(relax.op.nn.batch_norm(value, *stats, axis=1, training=training))
            result = bb.emit_output(norm[0])
        bb.emit_func_output(result)
    mod = bb.get()
    want = relax.interp.run(mod, x)
    got = relax.VirtualMachine(tvm.compile(mod), tvm.cpu())["main"](x).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
