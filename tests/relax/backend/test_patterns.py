"""Patterns of what libraries take over, each compared with a program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.relax.analysis import get_var2val
from tvm.relax.backend import patterns as p
from tvm.relax.dpl import rewrite_call
from tvm.relax.op import nn
from tvm.script import relax as R

pytestmark = pytest.mark.pure
op: Any = relax.op


def _var(name: str, *shape: int, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, R.Tensor(list(shape), dtype))


def _found(made: Any, expr: relax.Expr) -> dict[str, relax.Expr] | None:
    """What the named parts match in the expression, written in steps."""
    pattern, parts = made
    bb = relax.BlockBuilder()
    free = relax.analysis.free_vars(expr)
    with bb.function("main", free):
        bb.emit_func_output(bb.emit(expr))
    func = bb.get()["main"]
    last = func.body.blocks[-1].bindings[-1].value
    found = pattern.extract_matched_expr(last, get_var2val(func))
    return None if found is None else {k: found[v] for k, v in parts.items() if v in found}


X, W, B = _var("x", 4, 8), _var("w", 8, 8), _var("b", 8)


def test_matmul() -> None:
    found = _found(p.make_matmul_pattern(), op.matmul(X, W))
    assert found is not None
    assert found["lhs"] is X
    assert found["rhs"] is W
    product = op.matmul(X, op.permute_dims(W))
    full = p.make_matmul_pattern(with_bias=True, activation="relax.nn.relu", transposed_rhs=True)
    found = _found(full, nn.relu(op.add(product, B)))
    assert found is not None
    assert found["bias"] is B
    assert found["rhs"] is W
    assert found["root"].op.name == "relax.matmul"
    assert _found(full, nn.relu(product)) is None


def test_convolution_and_residual() -> None:
    x, w = _var("x", 1, 8, 8, 8), _var("w", 8, 8, 3, 3)
    conv = nn.conv2d(x, w, padding=(1, 1))
    made = p.make_residual_block_pattern(p.make_conv2d_pattern(), activation="relax.nn.relu")
    for total in (op.add(conv, x), op.add(x, conv)):
        found = _found(made, nn.relu(total))
        assert found is not None
        assert found["residual"] is x
        assert found["weight"] is w
    plain = p.make_residual_block_pattern(p.make_conv2d_pattern()[0], "relax.multiply")
    assert _found(plain, op.multiply(conv, x)) is not None


def test_attention() -> None:
    q, k, v = (_var(name, 2, 4, 8, 16) for name in "qkv")
    bias = _var("bias", 2, 8, 4, 4)
    found = _found(p.make_attention_pattern(), nn.attention(q, k, v))
    assert found == {"query": q, "key": k, "value": v}
    found = _found(p.make_attention_pattern(with_bias=True), nn.attention(q, k, v, bias))
    assert found is not None
    assert found["bias"] is bias
    assert len(p.make_attention_pattern(var_len=True)[1]) == 7


@pytest.mark.parametrize("start", ["split", "strided_slice"])
@pytest.mark.parametrize("layout", ["BS3NH", "SBN3H"])
def test_stacked_attention(start: str, layout: str) -> None:
    last = 3 * 128 if layout == "BS3NH" else 3 * 16
    shape = (2, 4, last) if layout == "BS3NH" else (4, 2, 8, last)
    qkv = _var("qkv", *shape)
    axis, width = len(shape) - 1, last // 3
    if start == "split":
        cut = op.split(qkv, 3, axis=axis)
        pieces = [relax.TupleGetItem(cut, i) for i in range(3)]
    else:
        pieces = [
            op.strided_slice(qkv, [axis], [i * width], [(i + 1) * width]) for i in range(3)
        ]
    if layout == "BS3NH":
        pieces = [op.reshape(piece, (2, 4, 8, 16)) for piece in pieces]
    else:
        pieces = [op.permute_dims(piece, [1, 0, 2, 3]) for piece in pieces]
    out = nn.attention(*pieces)
    out = op.permute_dims(out, [1, 0, 2, 3]) if layout == "SBN3H" else out
    found = _found(p.make_stacked_attention_pattern(start, layout=layout), out)
    assert found is not None
    assert found["stacked_qkv"] is qkv


def test_norms_scales_and_dequantize() -> None:
    one = _var("one", 8)
    assert _found(p.make_layer_norm_pattern(), nn.layer_norm(X, one, B, axes=[-1])) == {}
    norm = relax.GlobalVar("rms_norm")
    call = op.call_tir(norm, relax.Tuple([X, one]), relax.TensorStructInfo([4, 8], "float16"))
    assert _found(p.make_rms_norm_pattern(), call) == {"gv": norm, "inp": X, "rms_norm": call}
    a, b = _var("a", 1), _var("c", 1)
    scaled = op.astype(op.multiply(op.matmul(X, W), op.multiply(a, b)), "float16")
    found = _found(p.make_matmul_multiply_pattern(), scaled)
    assert found is not None
    assert (found["scaleA"], found["scaleB"]) == (a, b)
    xi, wi = _var("x", 4, 8, dtype="int8"), _var("w", 8, 8, dtype="int8")
    product = op.matmul(xi, wi, out_dtype="int32")
    scale, zero = relax.const(0.5, "float32"), relax.const(0, "int32")
    found = _found(p.make_matmul_dequantize_pattern(), op.dequantize(product, scale, zero, axis=-1))
    assert found is not None
    assert found["scale"] is scale


def test_rejects() -> None:
    with pytest.raises(TVMError, match="start_op is 'cut'"):
        p.make_stacked_attention_pattern("cut")
    with pytest.raises(TVMError, match="layout is 'ABC'"):
        p.make_stacked_attention_pattern("split", layout="ABC")


@pytest.mark.parametrize("layout", ["BSNH", "BSH"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("cast", [False, True])
def test_attention_written_out(layout: str, bias: bool, cast: bool) -> None:
    shape = (2, 4, 8, 16) if layout == "BSNH" else (2, 4, 16)
    q, k, v = (_var(name, *shape) for name in "qkv")
    b = _var("b", 16 if layout == "BSNH" else 2, 4, 4)

    def fold(x: Any) -> Any:
        if layout == "BSH":
            return x
        return op.reshape(op.permute_dims(x, [0, 2, 1, 3]), (16, 4, 16))

    scores = op.matmul(fold(q), op.permute_dims(fold(k), [0, 2, 1]))
    scores = op.divide(scores, relax.const(4.0, "float32"))
    scores = op.add(scores, b) if bias else scores
    scores = op.astype(scores, "float64") if cast else scores
    weights = nn.softmax(scores, axis=2)
    weights = op.astype(weights, "float32") if cast else weights
    out = op.matmul(weights, fold(v))
    if layout == "BSNH":
        out = op.permute_dims(op.reshape(out, (2, 8, 4, 16)), [0, 2, 1, 3])
    bb = relax.BlockBuilder()
    with bb.function("main", [q, k, v, b]):
        with bb.dataflow():
            result = bb.emit_output(out)
        bb.emit_func_output(result)
    before = bb.get()["main"]
    pattern, rule = p.make_attention_rewrite_pattern(layout, layout, bias, cast)
    after = rewrite_call(pattern, rule, before)
    assert relax.analysis.well_formed(after)
    text = str(after)
    assert "R.nn.attention" in text
    assert "softmax" not in text
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=[int(e) for e in x.struct_info.shape]).astype("float32")
              for x in (q, k, v, b)]  # fmt: skip
    want, found = (run_interp(IRModule.from_expr(func), inputs) for func in (before, after))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_attention_rewrite_rejects() -> None:
    with pytest.raises(TVMError, match="layout is 'NHB'"):
        p.make_attention_rewrite_pattern("NHB", "BSNH", False, False)
