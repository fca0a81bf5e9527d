"""Odd cases of operators on each element."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import info, var
from tvm.error import DTypeError
from tvm.ir import Op
from tvm.relax import BlockBuilder, interp, op
from tvm.relax.op.unary import erf_numpy
from tvm.relax.transform import LegalizeOps

pytestmark = pytest.mark.pure


def test_shape_and_dtype_stay_as_they_are() -> None:
    x = var(ndim=3, dtype="float16")
    assert info(op.exp(x)) is x.struct_info
    assert info(op.isnan(x)).dtype == "bool"


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sigmoid", "sqrt"])
def test_floats_are_needed(name: str) -> None:
    with pytest.raises(DTypeError, match=rf"relax\.{name}: x must have a float dtype") as err:
        info(getattr(op, name)(var(2, dtype="int32")))
    assert "found: int32" in str(err.value)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
def test_floats_for_storing_are_not_computed_with(dtype: str) -> None:
    with pytest.raises(DTypeError, match="x must have a float dtype"):
        BlockBuilder().normalize(op.exp(var(3, dtype=dtype)))
    assert BlockBuilder().normalize(op.negative(var(3, dtype=dtype))).struct_info.dtype == dtype


def test_half_floats_are_computed_in_single_precision() -> None:
    x = np.float16([0.1, 1, 3])
    reference = Op.get("relax.exp").get_attr("FReference")
    found = reference(op.exp(var(3, dtype="float16")), [x])
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, np.exp(x.astype("float32")).astype("float16"))


def test_error_function() -> None:
    np.testing.assert_allclose(erf_numpy(np.float64([0, 0.5, 2])), [0, 0.5204998778, 0.995322265])


def test_clip_takes_numbers_and_keeps_the_dtype() -> None:
    call = op.clip(var(3, dtype="int32"), 0, 2)
    assert call.args[1].value.value == 0
    assert info(call).dtype == "int32"
    from tvm import relax

    func = relax.Function([call.args[0]], relax.BlockBuilder().normalize(call))
    np.testing.assert_array_equal(interp.run(func, np.int32([-1, 1, 5])), [0, 1, 2])


def test_the_error_function_of_half_floats_is_computed_in_single_precision() -> None:
    bb = BlockBuilder()
    x = var(3, dtype="float16")
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.erf(x)))
    kernel = LegalizeOps()(bb.get())["erf"]
    assert [str(b.dtype) for b in kernel.body.block.alloc_buffers] == ["float32", "float32"]
