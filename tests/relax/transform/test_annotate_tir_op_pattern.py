"""AnnotateTIROpPattern: how a kernel's elements depend on its operands."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.op_pattern import OpPatternKind as Kind
from tvm.relax.transform import AnnotateTIROpPattern, LegalizeOps
from tvm.relax.transform.annotate_tir_op_pattern import AnnotateFusionPattern
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def _pattern_of(build, *shapes, dtype: str = "float32") -> Kind:
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(shape, dtype)) for i, shape in enumerate(shapes)
    ]
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(build(*params)))
    after = AnnotateTIROpPattern()(LegalizeOps()(bb.get()))
    (kernel,) = [f for v, f in after.functions.items() if v.name_hint != "main"]
    return Kind(int(kernel.attrs["op_pattern"]))


@pytest.mark.parametrize(
    ("build", "shapes", "kind"),
    [
        (op.nn.relu, [(4, 4)], Kind.kElemWise),
        (op.add, [(4, 4), (4, 4)], Kind.kElemWise),
        (op.add, [(4, 4), (4,)], Kind.kElemWise),
        (op.add, [(4, 4), (4, 1)], Kind.kElemWise),
        (op.add, [(1, 64, 8, 8), (64, 1, 1)], Kind.kElemWise),
        (op.add, [(128,), ()], Kind.kElemWise),
        (op.add, [(4, 1), (1, 4)], Kind.kBroadcast),
        (lambda x: op.broadcast_to(x, (3, 4)), [(4,)], Kind.kBroadcast),
        (op.permute_dims, [(4, 4)], Kind.kInjective),
        (lambda x: op.reshape(x, (8, 2)), [(4, 4)], Kind.kInjective),
        (lambda x: op.strided_slice(x, [0], [1], [3]), [(4, 4)], Kind.kInjective),
        (lambda x, y: op.concat([x, y], 0), [(4, 4), (4, 4)], Kind.kInjective),
        (lambda x: op.sum(x, [1]), [(4, 4)], Kind.kCommReduce),
        (lambda x: op.max(x, [0], keepdims=True), [(4, 4)], Kind.kCommReduce),
        (op.matmul, [(4, 4), (4, 4)], Kind.kOutEWiseFusable),
        (op.matmul, [(1, 4), (4, 4)], Kind.kOutEWiseFusable),
        (op.matmul, [(4,), (4, 4)], Kind.kCommReduce),
        (op.matmul, [(4, 4), (4,)], Kind.kCommReduce),
        (op.matmul, [(4,), (4,)], Kind.kCommReduce),
        (lambda x, w: op.nn.conv2d(x, w, padding=1), [(1, 4, 8, 8), (4, 4, 3, 3)],
         Kind.kOutEWiseFusable),
        (lambda x, w: op.nn.conv2d(x, w, groups=4), [(1, 4, 8, 8), (4, 1, 3, 3)],
         Kind.kOutEWiseFusable),
        (lambda x: op.nn.softmax(x, 1), [(4, 4)], Kind.kOutEWiseFusable),
        (lambda x, g: op.nn.layer_norm(x, g, g, [-1]), [(4, 4), (4,)], Kind.kOutEWiseFusable),
        (lambda x: op.nn.max_pool2d(x, (2, 2)), [(1, 4, 8, 8)], Kind.kOutEWiseFusable),
        (lambda x: op.mean(x, [1]), [(4, 4)], Kind.kOutEWiseFusable),
        (lambda x: op.std(x, [1]), [(4, 4)], Kind.kOutEWiseFusable),
        (lambda x: op.argmax(x, 1), [(4, 4)], Kind.kOutEWiseFusable),
        (lambda x: op.take(x, relax.const([0, 2], "int64"), 0), [(4, 4)], Kind.kOpaque),
        (lambda x: op.gather_elements(x, relax.const([[0, 2]], "int64"), 0), [(4, 4)],
         Kind.kOpaque),
        (lambda x: op.sort(x, 0), [(4, 4)], Kind.kOpaque),
        (lambda x: op.cumsum(x, 0), [(4, 4)], Kind.kOpaque),
    ],
)  # fmt: skip
def test_operators(build, shapes, kind: Kind) -> None:
    assert _pattern_of(build, *shapes) == kind


def test_our_pipelines_fuse_what_gathers_and_what_only_scales_a_reduction() -> None:
    for build, kind in [
        (lambda x: op.mean(x, [1]), Kind.kCommReduce),
        (lambda x: op.take(x, relax.const([0, 2], "int64"), 0), Kind.kInjective),
        (lambda x: op.nn.softmax(x, 1), Kind.kOutEWiseFusable),
    ]:
        bb = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorStructInfo((4, 4), "float32"))
        with bb.function("main", [x]):
            bb.emit_func_output(bb.emit(build(x)))
        after = AnnotateFusionPattern()(LegalizeOps()(bb.get()))
        (kernel,) = [f for v, f in after.functions.items() if v.name_hint != "main"]
        assert int(kernel.attrs["op_pattern"]) == kind


def _annotated(func) -> int:
    return int(AnnotateTIROpPattern()(IRModule({"f": func}))["f"].attrs["op_pattern"])


def test_a_kernel_that_scatters_is_opaque_to_its_indices() -> None:
    @T.prim_func
    def scatter(x: T.Buffer((4,), "float32"), i: T.Buffer((4,), "int32"),
                out: T.Buffer((8,), "float32")):
        for k in range(4):
            with T.block("b"):
                vk = T.axis.spatial(4, k)
                out[i[vk]] = x[vk]

    assert _annotated(scatter) >= Kind.kInjective


def test_a_kernel_without_blocks_is_opaque() -> None:
    @T.prim_func
    def plain(x: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):
        for k in range(4):
            out[k] = x[k]

    assert _annotated(plain) == Kind.kOpaque


def test_a_block_with_two_stores_is_opaque() -> None:
    @T.prim_func
    def two(x: T.Buffer((4,), "float32"), a: T.Buffer((4,), "float32"),
            b: T.Buffer((4,), "float32")):
        for k in range(4):
            with T.block("b"):
                vk = T.axis.spatial(4, k)
                a[vk] = x[vk]
                b[vk] = x[vk]

    assert _annotated(two) == Kind.kOpaque


def test_a_block_with_an_effect_is_opaque() -> None:
    @T.prim_func
    def call(x: T.Buffer((4,), "float32"), a: T.Buffer((4,), "float32")):
        for k in range(4):
            with T.block("b"):
                vk = T.axis.spatial(4, k)
                a[vk] = T.call_extern("float32", "something", x[vk])

    assert _annotated(call) == Kind.kOpaque


def test_a_pattern_that_is_there_stays() -> None:
    @T.prim_func
    def plain(x: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 2})
        for k in range(4):
            out[k] = x[k]

    assert _annotated(plain) == Kind.kInjective
