"""The module of one matmul."""

import numpy as np
import pytest

from tvm.relax import interp, op, testing
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


def test_what_follows_a_product() -> None:
    make = testing.get_relax_matmul_dequantize_module
    dequantized = make((4, 4), (4, 4), "int8", "float16", transposed_y=True)
    assert dequantized["main"].ret_struct_info.dtype == "float16"
    scaled = testing.get_relax_matmul_multiply_module(
        (4, 3), (3, 5), (1,), "float16", "float32", "float16"
    )
    assert scaled["main"].ret_struct_info.dtype == "float16"
    assert [int(e) for e in scaled["main"].ret_struct_info.shape] == [4, 5]


def test_the_package_gives_the_names_of_its_parts() -> None:
    for name in ("get_relax_matmul_module", "get_relax_attention_module", "Linear", "emit_te"):
        assert getattr(testing, name).__name__ == name


def test_the_last_operator_is_the_output() -> None:
    mod = get_relax_matmul_module((3, 4), (5, 4), "float16", transposed_y=True, bias_shape=(5,))
    values = [str(b.value) for b in mod["main"].body.blocks[0].bindings]
    assert values[0] == "R.permute_dims(y, axes=[-1, -2])"
    assert values[2:] == ["R.add(lv1, bias)"]
