from __future__ import annotations

from typing import Any

import pytest

from tests.relax.backend.cuda_programs import graph, op, taken
from tvm import relax, tir
from tvm.relax import transform
from tvm.relax.backend import get_patterns_with_prefix
from tvm.relax.backend.cuda.cutlass import partition_for_cutlass
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure
M = tir.Var("m", "int64")


def block(transposed: bool, bias: bool, activation: str | None, residual: str | None) -> Any:
    def make(bb: relax.BlockBuilder, x: Any, y: Any, b: Any, r: Any) -> Any:
        out = bb.emit(op.matmul(x, bb.emit(op.permute_dims(y)) if transposed else y))
        if bias:
            out = bb.emit(op.add(out, b))
        if activation:
            out = bb.emit(getattr(op.nn, activation)(out))
        return getattr(op, residual)(out, r) if residual else op.negative(out)

    return make


@pytest.mark.parametrize(
    ("transposed", "bias", "activation", "residual", "name"),
    [
        (False, False, None, None, "matmul"),
        (False, True, None, None, "matmul_bias"),
        (False, True, "gelu", None, "matmul_bias_gelu"),
        (True, True, "relu", None, "matmul_transposed_bias_relu"),
        (False, True, None, "add", "matmul_bias_residual_add"),
        (False, True, "relu", "multiply", "matmul_bias_relu_residual_multiply"),
        (True, True, "gelu", "add", "matmul_transposed_bias_gelu_residual_add"),
    ],
)
def test_products(
    transposed: bool, bias: bool, activation: str | None, residual: str | None, name: str
) -> None:
    right = (24, 16) if transposed else (16, 24)
    mod = graph((M, 16), right, (24,), (M, 24), make=block(transposed, bias, activation, residual))
    assert taken(partition_for_cutlass(mod)) == [f"cutlass.{name}"]


def test_a_residual_that_comes_later() -> None:
    def make(bb: relax.BlockBuilder, x: Any, y: Any, b: Any) -> Any:
        out = bb.emit(op.add(bb.emit(op.matmul(x, y)), b))
        return op.add(out, bb.emit(op.negative(out)))

    found = taken(partition_for_cutlass(graph((8, 16), (16, 24), (24,), make=make)))
    assert found == ["cutlass.matmul_bias"]


@pytest.mark.parametrize(("lhs", "rhs", "fits"), [
    ((4, 8, 16), (4, 16, 8), True), ((4, 8, 16), (16, 8), True), ((4, 8, 16), (2, 16, 8), False),
    ((M, 8, 16), (16, 8), True), ((8, M), (M, 8), False),
])  # fmt: skip
def test_batches(lhs: Any, rhs: Any, fits: bool) -> None:
    if not fits and lhs == (4, 8, 16):
        lhs = (1, 8, 16)
    mod = graph(lhs, rhs, make=lambda bb, x, y: op.matmul(x, y))
    assert bool(taken(partition_for_cutlass(mod))) is fits


@pytest.mark.parametrize(("groups", "weight", "fits"), [(1, (16, 3, 3, 8), True),
                                                        (8, (8, 3, 3, 1), False)])  # fmt: skip
def test_convolutions(groups: int, weight: tuple[int, ...], fits: bool) -> None:
    def make(bb: relax.BlockBuilder, x: Any, w: Any) -> Any:
        return op.nn.conv2d(x, w, groups=groups, data_layout="NHWC", kernel_layout="OHWI")

    assert bool(taken(partition_for_cutlass(graph((1, 8, 8, 8), weight, make=make)))) is fits


def test_attention() -> None:
    shape = (2, 8, 4, 64)
    mod = graph(shape, shape, shape, make=lambda bb, q, k, v: op.nn.attention(q, k, v))
    after = partition_for_cutlass(mod)
    assert taken(after) == ["cutlass.attention"]
    assert 'workspace_main: R.Tensor((8192,), dtype="uint8")' in after.script()
    symbolic = graph((M, 8, 4, 64), (M, 8, 4, 64), (M, 8, 4, 64),
                     make=lambda bb, q, k, v: op.nn.attention(q, k, v))  # fmt: skip
    text = partition_for_cutlass(symbolic).script()
    assert 'workspace_main: R.Tensor((65536,), dtype="uint8")' in text


def sliced(*at: int) -> Any:
    def make(bb: relax.BlockBuilder, qkv: Any) -> Any:
        parts = [bb.emit(op.strided_slice(qkv, [2], [a * 256], [a * 256 + 256])) for a in at]
        return op.nn.attention(*[bb.emit(op.reshape(p, (2, 8, 4, 64))) for p in parts])

    return make


def test_stacked_attention() -> None:
    mod = partition_for_cutlass(graph((2, 8, 768), make=sliced(0, 1, 2)))
    assert taken(mod) == ["cutlass.stacked_attention"]
    assert taken(partition_for_cutlass(graph((2, 8, 768), make=sliced(1, 0, 2)))) == [
        "cutlass.attention"
    ]


def test_attention_that_is_written_out() -> None:
    def make(bb: relax.BlockBuilder, q: Any, k: Any, v: Any) -> Any:
        folded = [
            bb.emit(op.reshape(bb.emit(op.permute_dims(x, [0, 2, 1, 3])), (8, 16, 32)))
            for x in (q, k, v)
        ]
        scores = bb.emit(op.matmul(folded[0], bb.emit(op.permute_dims(folded[1], [0, 2, 1]))))
        weights = bb.emit(op.nn.softmax(scores, axis=-1))
        out = bb.emit(op.reshape(bb.emit(op.matmul(weights, folded[2])), (2, 4, 16, 32)))
        return op.permute_dims(out, [0, 2, 1, 3])

    shape = (2, 16, 4, 32)
    after = partition_for_cutlass(graph(shape, shape, shape, make=make))
    assert taken(after) == ["cutlass.attention"]


def test_norms() -> None:
    mod = graph((4, 8), (8,), (8,), make=lambda bb, x, w, b: op.nn.layer_norm(x, w, b, [-1]))
    assert taken(partition_for_cutlass(mod)) == ["cutlass.layer_norm"]
    mod = graph((4, 8), (8,), make=lambda bb, x, w: op.nn.rms_norm(x, w, [-1]))
    assert taken(partition_for_cutlass(mod)) == []
    # those that were made a kernel are taken by its name
    assert taken(partition_for_cutlass(transform.LegalizeOps()(mod))) == ["cutlass.rms_norm"]


def test_weights_that_are_unpacked_before() -> None:
    @I.ir_module
    class Packed:
        @T.prim_func
        def decode(
            A: T.Buffer((T.int64(64), T.int64(64)), "int8"),
            S: T.Buffer((T.int64(128),), "float16"),
            W: T.Buffer((T.int64(64), T.int64(128)), "float16"),
        ):
            T.func_attr({"tir.noalias": True})
            for i, j in T.grid(T.int64(64), T.int64(128)):
                with T.block("decode"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    W[vi, vj] = T.Cast(
                        "float16", T.shift_right(A[vi, vj // 2], T.Cast("int8", vj % 2 * 4))
                    ) * S[vj]

        @R.function
        def main(
            x: R.Tensor((64, 64), "float16"), w: R.Tensor((64, 64), "int8"),
            s: R.Tensor((128,), "float16"), b: R.Tensor((1, 128), "float16"),
        ):  # fmt: skip
            cls = Packed
            with R.dataflow():
                lv = R.call_tir(cls.decode, (w, s), R.Tensor((64, 128), "float16"))
                lv1 = R.matmul(x, lv, out_dtype="float16")
                lv2 = R.add(lv1, b)
                lv3 = R.nn.gelu(lv2)
                R.output(lv3)
            return lv3

    assert taken(partition_for_cutlass(Packed)) == ["cutlass.decode_matmul_bias_gelu"]


def test_without_annotation() -> None:
    mod = graph((4, 8), (8, 8), make=lambda bb, x, y: op.matmul(x, y))
    after = partition_for_cutlass(mod, annotate_codegen=False)
    assert "Codegen" not in after.script()
    assert '"Composite": "cutlass.matmul"' in after.script()
    assert get_patterns_with_prefix("cutlass.decode_matmul")
