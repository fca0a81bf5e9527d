"""Mixed precision: which calls are narrow, where casts stand, what users change."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relay
from tvm.error import TVMError
from tvm.relay.testing.temp_op_attr import TempOpAttr
from tvm.relay.transform import InferType, ToMixedPrecision
from tvm.relay.transform.mixed_precision import MIXED_PRECISION_NEVER, generic_never_op

pytestmark = pytest.mark.pure


def narrow(body: Any, dtype: str = "float16", mode: int = 1, **config: Any) -> Any:
    mod = InferType()(tvm.IRModule.from_expr(body))
    with tvm.transform.PassContext(config=config):
        return ToMixedPrecision(dtype, mode)(mod)


def check(body: Any, expected: Any, dtype: str = "float16", **config: Any) -> None:
    wanted = InferType()(tvm.IRModule.from_expr(expected))
    tvm.ir.assert_structural_equal(narrow(body, dtype, **config), wanted)


def var(name: str, *shape: int, dtype: str = "float32") -> Any:
    return relay.var(name, shape=shape, dtype=dtype)


X, W = var("x", 2, 4), var("w", 3, 4)


def dense(dtype: str = "float16") -> Any:
    return relay.nn.dense(relay.cast(X, dtype), relay.cast(W, dtype), out_dtype=dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_are_narrow_and_so_is_the_result(dtype: str) -> None:
    check(relay.nn.dense(X, W), dense(dtype), dtype)


def test_the_result_keeps_its_type_where_asked() -> None:
    option: dict[str, Any] = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}
    check(relay.nn.dense(X, W), relay.cast(dense(), "float32"), **option)


def test_variables_count_as_narrow_wide_steps_do_not() -> None:
    check(relay.nn.relu(X), relay.nn.relu(relay.cast(X, "float16")))
    wide = relay.nn.softmax(X)
    check(relay.nn.relu(wide), relay.nn.relu(wide))
    both = relay.add(relay.nn.dense(X, W), relay.nn.softmax(var("y", 2, 3)))
    softmax = relay.nn.softmax(var("y", 2, 3))
    mod = narrow(both)
    expected = relay.add(relay.cast(dense(), "float32"), softmax)
    params = relay.analysis.free_vars(expected)
    wanted = InferType()(tvm.IRModule.from_expr(relay.Function(params, expected)))
    tvm.ir.assert_structural_equal(mod["main"], wanted["main"], map_free_vars=True)


def test_clips_beyond_the_range_stay_wide() -> None:
    check(relay.clip(X, -1e5, 1e5), relay.clip(X, -1e5, 1e5))
    check(relay.clip(X, -6.0, 6.0), relay.clip(relay.cast(X, "float16"), -6.0, 6.0))
    check(relay.clip(X, -1e5, 1e5), relay.clip(relay.cast(X, "bfloat16"), -1e5, 1e5), "bfloat16")


def test_integers_stay_as_they_are() -> None:
    index = var("i", 2, dtype="int32")
    check(relay.take(X, index, axis=0), relay.take(relay.cast(X, "float16"), index, axis=0))


def test_variables_of_lets_take_the_type_of_their_values() -> None:
    v = var("v", 2, 3)
    mod = narrow(relay.Let(v, relay.nn.dense(X, W), relay.nn.relu(v)))
    let = mod["main"].body
    assert let.var.type_annotation.dtype == "float16"
    assert let.body.checked_type.dtype == "float16"


def test_users_change_a_rule() -> None:
    never = "FTVMMixedPrecisionConversionType"
    with TempOpAttr("nn.dense", never, generic_never_op):
        check(relay.nn.dense(X, W), relay.nn.dense(X, W))
    sums = lambda call, dtype: [0, "float32", "float16"]
    wide = relay.nn.dense(relay.cast(X, "float16"), relay.cast(W, "float16"), out_dtype="float32")
    with TempOpAttr("nn.dense", never, sums):
        check(relay.nn.dense(X, W), relay.cast(wide, "float16"))
    assert generic_never_op(X, "float16")[0] == MIXED_PRECISION_NEVER


def test_operators_without_a_rule() -> None:
    body = relay.nn.fast_softmax(X)
    with pytest.raises(TVMError, match="what is to happen to"):
        narrow(body, mode=0)
    with pytest.warns(UserWarning, match="what is to happen to"):
        narrow(body, mode=1)
    check_silent = narrow(body, mode=2)
    assert check_silent["main"].body.checked_type.dtype == "float16"  # as its operand, a variable
    stays_wide = narrow(relay.nn.fast_softmax(relay.exp(X)), mode=2)
    assert stays_wide["main"].body.checked_type.dtype == "float32"
    for mode in (3, -1):
        with pytest.raises(ValueError, match="Missing op mode is either 0, 1, or 2"):
            relay.transform.ToMixedPrecision("float16", missing_op_mode=mode)


def test_functions_get_what_their_parameters_are() -> None:
    y = var("y", 2, 4)
    func = relay.Function([y], relay.nn.relu(y))
    narrow_func = relay.Function([y], relay.nn.relu(relay.cast(y, "float16")))
    check(relay.Function([X], func(X)), relay.Function([X], narrow_func(X)))
    product = relay.nn.dense(X, var("v", 4, 4))
    narrow_product = relay.nn.dense(
        relay.cast(X, "float16"), relay.cast(var("v", 4, 4), "float16"), out_dtype="float16"
    )
    mod = narrow(relay.Function([y], relay.exp(y))(product))
    wide = relay.Function([y], relay.exp(y))(relay.cast(narrow_product, "float32"))
    params = relay.analysis.free_vars(wide)
    wanted = InferType()(tvm.IRModule.from_expr(relay.Function(params, wide)))
    tvm.ir.assert_structural_equal(mod["main"].body, wanted["main"].body, map_free_vars=True)


def test_tuples_are_taken_apart_where_their_tensors_are_cast() -> None:
    wide = relay.nn.softmax(var("y", 2, 3))
    pair = relay.Tuple([dense(), wide])
    parts = [relay.cast(relay.TupleGetItem(pair, 0), "float32"), relay.TupleGetItem(pair, 1)]
    mod = narrow(relay.concatenate([relay.nn.dense(X, W), relay.nn.softmax(var("y", 2, 3))], 1))
    wanted = relay.concatenate(parts, 1)
    params = relay.analysis.free_vars(wanted)
    typed = InferType()(tvm.IRModule.from_expr(relay.Function(params, wanted)))
    tvm.ir.assert_structural_equal(mod["main"].body, typed["main"].body, map_free_vars=True)
