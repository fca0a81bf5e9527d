from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import topi
from tvm.topi.nn.qnn import SQNN_DTYPE_TO_CODE

pytestmark = pytest.mark.pure
LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int32": (-(2.0**31), 2.0**31)}


@pytest.mark.parametrize("dtype", SQNN_DTYPE_TO_CODE)
def test_there_and_back(dtype: str) -> None:
    x = floats(4, 3) * 100
    code = np.array(SQNN_DTYPE_TO_CODE[dtype], "int32")
    scale = np.array([0.5, 0.25, 1.0], "float32")
    zero = np.array([1, 0, 5], "int32")
    quantized = evaluate(lambda *t: topi.nn.simulated_quantize(*t, axis=1), x, code, scale, zero)
    wanted = x if dtype == "disable" else np.clip(np.rint(x / scale) + zero, *LIMITS[dtype])
    close(quantized, wanted.astype("float32"))
    back = evaluate(
        lambda *t: topi.nn.simulated_dequantize(*t, axis=1), quantized, code, scale, zero
    )
    close(back, quantized if dtype == "disable" else (quantized - zero) * scale, 1e-5, 1e-4)
