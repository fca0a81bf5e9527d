from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
import tvm.ir
from tests.structure import reference
from tvm import relax, tir
from tvm.error import OpAttributeRequired
from tvm.relax.frontend.onnx import onnx_frontend
from tvm.relax.frontend.onnx.onnx_frontend import OnnxOpConverter

onnx: Any = pytest.importorskip("onnx")
onnxruntime: Any = pytest.importorskip("onnxruntime")

MODULE = onnx_frontend.__name__
RNG = np.random.default_rng(0)


def tensor(name: str, *shape: Any, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def converted(
    name: str, opset: int, params: list[relax.Var], inputs: list[Any], attr: Any = None
) -> tvm.IRModule:
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            found = getattr(onnx_frontend, name).get_converter(opset)
            result = bb.emit_output(found(bb, inputs, attr or {}, [{}, {}]))
        bb.emit_func_output(result)
    return bb.get()


def run(mod: tvm.IRModule, *arrays: Any) -> list[Any]:
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    result = vm["main"](*(tvm.runtime.tensor(a) for a in arrays))
    return [r.numpy() for r in ([result] if hasattr(result, "numpy") else result)]


def by_onnxruntime(
    name: str, opset: int, arrays: list[Any], outputs: int, attr: dict[str, Any]
) -> list[Any]:
    helper = onnx.helper
    names = [f"i{i}" for i in range(len(arrays))]
    node = helper.make_node(name, names, [f"o{i}" for i in range(outputs)], **attr)
    kinds = [helper.np_dtype_to_tensor_dtype(a.dtype) for a in arrays]
    values = [
        helper.make_tensor_value_info(n, k, a.shape) for n, k, a in zip(names, kinds, arrays)
    ]
    results = [onnx.ValueInfoProto(name=n) for n in node.output]
    graph = helper.make_graph([node], "g", values, results)
    imports = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found: list[Any] = session.run(None, dict(zip(names, arrays)))
    return found


def test_every_class_is_there() -> None:
    wanted = [e for e in reference.entries() if e.module == MODULE and e.name[0].isupper()]
    classes = {e.name for e in wanted if not e.owner} - {"ONNXGraphImporter"}
    assert len(classes) > 150
    bases = {"OnnxOpConverter", "BinaryBase", "BitwiseBase", "MultiInputBase", "Pool"}
    for name in sorted(classes):
        cls = getattr(onnx_frontend, name)
        assert issubclass(cls, OnnxOpConverter)
        assert cls.__name__ == name
        assert name in dir(onnx_frontend)
        if name not in bases:
            assert callable(cls.get_converter(13)), name
            assert onnx_frontend._get_convert_map()[name] is cls
    with pytest.raises(AttributeError, match="no attribute 'NoOperator'"):
        onnx_frontend.NoOperator


@pytest.mark.parametrize(
    ("name", "opset", "shapes", "attr", "outputs"),
    [
        ("MatMul", 13, [(3, 4), (4, 5)], {}, 1),
        ("Softmax", 11, [(2, 3, 4)], {"axis": 1}, 1),
        ("Softmax", 13, [(2, 3, 4)], {"axis": 1}, 1),
        ("Conv", 13, [(1, 2, 6, 6), (3, 2, 3, 3), (3,)], {"pads": [1, 1, 1, 1]}, 1),
        ("Max", 13, [(2, 3), (3,), (2, 1)], {}, 1),
        ("Split", 11, [(6, 2)], {"axis": 0, "split": [2, 4]}, 2),
        ("BitwiseNot", 18, [], {}, 1),
    ],
)
def test_a_class_converts(
    name: str, opset: int, shapes: list[Any], attr: dict[str, Any], outputs: int
) -> None:
    arrays = [RNG.standard_normal(shape).astype("float32") for shape in shapes]
    arrays = arrays or [np.arange(-3, 3, dtype="int32")]
    params = [tensor(f"p{i}", *a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    custom = {"tvm_custom": {"name": "n", "num_outputs": outputs}}
    found = run(converted(name, opset, params, list(params), attr | custom), *arrays)
    expected = by_onnxruntime(name, opset, arrays, outputs, attr)
    assert len(found) == len(expected) == outputs
    for ours, theirs in zip(found, expected):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_versions_are_those_of_the_definitions() -> None:
    cls: Any = onnx_frontend.Softmax
    assert cls.get_converter(12) == cls._impl_v11
    assert cls.get_converter(13) == cls.get_converter(20) == cls._impl_v13
    late: Any = onnx_frontend.LayerNormalization
    assert late.get_converter(13) == late._impl_v17

    class Mine(OnnxOpConverter):
        @classmethod
        def _impl_v7(cls, bb: Any, inputs: Any, attr: Any, params: Any) -> str:
            return "seven"

    assert Mine.get_converter(9)(relax.BlockBuilder(), [], {}, []) == "seven"
    with pytest.raises(NotImplementedError, match="OnnxOpConverter: no method converts it"):
        OnnxOpConverter.get_converter(1)


def test_an_operator_that_onnx_took_over_has_both_definitions() -> None:
    both: Any = onnx_frontend.Attention
    assert both.get_converter(13) == both.get_converter(22) == both._impl_v1
    assert both.get_converter(23) == both._impl_v23
    arrays = [RNG.standard_normal((1, 2, n, 8)).astype("float32") for n in (4, 6, 6)]
    q, k, v = (a.astype("float64") for a in arrays)
    params = [tensor(f"p{i}", *a.shape) for i, a in enumerate(arrays)]
    (found,) = run(converted("Attention", 23, params, list(params)), *arrays)
    weights = np.exp(q @ k.transpose(0, 1, 3, 2) / np.sqrt(8))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_without_a_block_the_expression_stands_alone() -> None:
    x, y = tensor("x", 2, 3), tensor("y", 2, 3)
    found = onnx_frontend.Sub.get_converter(13)(relax.BlockBuilder(), [x, y], {}, [{}, {}])
    tvm.ir.assert_structural_equal(
        relax.Function([x, y], found),
        relax.Function([x, y], relax.op.subtract(x, y), x.struct_info),
    )
    bare = relax.BlockBuilder()
    gelu = onnx_frontend.BiasGelu.get_converter(1)(bare, [x, y], {}, [{}, {}])
    doubled = onnx_frontend.Add.get_converter(14)(bare, [gelu, gelu], {}, [])
    func = relax.Function([x, y], doubled, x.struct_info)
    array = RNG.standard_normal((2, 3)).astype("float32")
    (ours,) = run(tvm.IRModule({"main": func}), array, array)
    (theirs,) = by_onnxruntime("Gelu", 20, [2 * array], 1, {})
    np.testing.assert_allclose(ours, 2 * theirs, rtol=1e-5, atol=1e-6)


def test_sizes_go_from_class_to_class() -> None:
    n = tir.Var("n", "int64")
    x = tensor("x", n, 4)
    bb = relax.BlockBuilder()
    shape = onnx_frontend.Shape.get_converter(15)(bb, [x], {}, [])
    assert isinstance(shape, relax.ShapeExpr)
    assert list(shape.values) == [n, 4]
    first = onnx_frontend.Gather.get_converter(13)(bb, [shape, relax.const([0])], {}, [])
    target = onnx_frontend.Concat.get_converter(13)(
        bb, [first, relax.const(np.array([2, 2]))], {"axis": 0}, []
    )
    result = converted("Reshape", 13, [x], [x, target])
    main = result["main"]
    assert isinstance(main, relax.Function)
    assert str(main.ret_struct_info) == 'R.Tensor((n, 2, 2), dtype="float32")'


def test_weights_tell_sizes() -> None:
    x, shape = tensor("x", 2, 6), tensor("s", 2, dtype="int64")
    weights = {"s": (shape, np.array([3, 4]))}
    reshape = onnx_frontend.Reshape.get_converter(13)
    found = reshape(relax.BlockBuilder(), [x, shape], {}, [{}, weights])
    assert str(found.struct_info) == 'R.Tensor((3, 4), dtype="float32")'
    clip = onnx_frontend.Clip.get_converter(13)
    mod_inputs = onnx_frontend.onnx_input([x, None, relax.const(0.5)])
    clipped = clip(relax.BlockBuilder(), mod_inputs, {}, [{}, {}])
    (ours,) = run(
        tvm.IRModule({"main": relax.Function([x], clipped)}), np.ones((2, 6), "float32")
    )
    assert ours.tolist() == [[0.5] * 6] * 2


def test_outputs_have_to_be_counted() -> None:
    with pytest.raises(OpAttributeRequired, match="ONNX Split: how many outputs"):
        onnx_frontend.Split.get_converter(13)(relax.BlockBuilder(), [tensor("x", 4)], {}, [])


def test_bases_compute_on_constants() -> None:
    two, x = relax.const(np.array([2, 3])), tensor("x", 2, dtype="int64")
    found = onnx_frontend.Mul.base_impl(None, [two, two], {}, [])
    assert found.data.numpy().tolist() == [4, 9]
    product = onnx_frontend.Mul.base_impl(None, [x, two], {}, [])
    assert product.op.name == "relax.multiply"
    union = onnx_frontend.BitwiseOr.base_impl(None, [two, relax.const(np.array([4, 4]))], {}, [])
    assert union.data.numpy().tolist() == [6, 7]
    with pytest.raises(ValueError, match="BitwiseOr: an operand"):
        onnx_frontend.BitwiseOr.base_impl(None, [relax.const(1.0), relax.const(1)], {}, [])
    assert onnx_frontend.Max.numpy_op is np.max
    for input1d, kernel, stride in ((7, 3, 2), (6, 3, 2), (5, 4, 1), (8, 1, 3)):
        pair = onnx_frontend.Pool.get_pad_pair(input1d, kernel, stride, "SAME_UPPER")
        total = max((-(-input1d // stride) - 1) * stride + kernel - input1d, 0)
        assert pair == (total // 2, total - total // 2)
        lower = onnx_frontend.Pool.get_pad_pair(input1d, kernel, stride, "SAME_LOWER")
        assert lower == pair[::-1]


def test_all_classes_of_boxes() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 1.1], [2, 2, 3, 3]]], "float32")
    scores = np.array([[[0.5, 0.9, 0.7]]], "float32")
    params = [tensor("b", 1, 3, 4), tensor("s", 1, 1, 3)]
    limits = [relax.const(np.array([2])), relax.const(np.array([0.5], "float32"))]
    custom = {"tvm_custom": {"num_outputs": 2}}
    mod = converted("AllClassNMS", 11, params, [*params, *limits], custom)
    table, count = run(mod, boxes, scores)
    (expected,) = by_onnxruntime(
        "NonMaxSuppression", 11,
        [boxes, scores, np.array([2]), np.array([0.5], "float32")], 1, {},
    )  # fmt: skip
    assert count.tolist() == [len(expected)] == [2]
    assert table[:2].tolist() == expected.tolist()
