"""The module of one matmul."""

import numpy as np
import pytest

from tvm.relax import interp, op
from tvm.relax.testing.matmul import get_relax_matmul_module

pytestmark = pytest.mark.cpu


def _random(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def test_plain_and_transposed():
    x, y = _random(2, 3, 4), _random(2, 5, 4)
    mod = get_relax_matmul_module((2, 3, 4), (2, 5, 4), "float32", transposed_y=True)
    found = interp.run(mod, x, y)
    np.testing.assert_allclose(np.asarray(found), x @ y.swapaxes(1, 2), rtol=1e-5)


def test_with_everything():
    x, y, bias = _random(3, 4), _random(4, 4), _random(4)
    mod = get_relax_matmul_module(
        (3, 4), (4, 4), "float32", bias_shape=(4,), activation=op.nn.relu,
        residual_bin_op=op.multiply, residual_activation=op.tanh,
    )  # fmt: skip
    found = interp.run(mod, x, y, bias)
    expected = np.tanh(np.maximum(x @ y + bias, 0) * x)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)


def test_out_dtype():
    mod = get_relax_matmul_module((3, 4), (4, 5), "float16", "float32", bias_shape=(5,))
    assert mod["main"].params[2].struct_info.dtype == "float32"
    assert mod["main"].ret_struct_info.dtype == "float32"
