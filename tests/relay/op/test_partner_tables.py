"""What partners' libraries take: by their tables, and as functions of the module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import TVMError
from tvm.relay.op.contrib import cublas, cudnn, cutlass, get_pattern_table

pytestmark = pytest.mark.cpu


def composites(mod: Any) -> list[str]:
    """The names of the parts that were taken, in the functions of a compiler."""
    found: list[str] = []
    for func in mod.functions.values():
        if "Compiler" in func.attrs:
            relay.analysis.post_order_visit(func.body, lambda e: found.append(
                e.attrs["Composite"]) if isinstance(e, relay.Function) else None)  # fmt: skip
    return found


def module(body: Any) -> Any:
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def v(name: str, *shape: int, dtype: str = "float32") -> Any:
    return relay.var(name, shape=shape, dtype=dtype)


def dense(dtype: str = "float32") -> Any:
    return relay.nn.dense(v("x", 4, 8, dtype=dtype), v("w", 16, 8, dtype=dtype))


def conv(groups: int = 1) -> Any:
    return relay.nn.conv2d(v("x", 1, 6, 6, 4), v("k", 4, 3, 3, 4 // groups), groups=groups,
                           padding=(1, 1), data_layout="NHWC", kernel_layout="OHWI",
                           channels=4, kernel_size=(3, 3))  # fmt: skip


def gelu(x: Any) -> Any:
    erf = relay.erf(x * relay.const(0.7071))
    return (relay.const(0.5) + erf * relay.const(0.5)) * x


def test_products_of_cublas() -> None:
    batches = relay.nn.batch_matmul(v("a", 2, 4, 8), v("b", 2, 5, 8))
    pair = relay.Tuple([dense(), batches])
    mod = cublas.partition_for_cublas(module(pair))
    assert sorted(composites(mod)) == ["cublas.batch_matmul", "cublas.dense"]
    assert composites(cublas.partition_for_cublas(module(dense("int16")))) == []


def test_constants_lie_in_the_functions() -> None:
    weight = relay.const(np.ones((8, 16), "float32"))
    mod = module(relay.nn.dense(relay.var("x", shape=(2, 16)), weight))
    for part, operands in ((cublas.partition_for_cublas, 1), (cutlass.partition_for_cutlass, 2)):
        made = part(module(relay.nn.dense(
            relay.var("x", shape=(2, 16), dtype="float16"), relay.const(np.ones((8, 16), "float16"))
        )))  # fmt: skip
        (func,) = [f for f in made.functions.values() if "Compiler" in f.attrs]
        assert len(func.params) == operands
        assert list(func.attrs)[:3] == ["Compiler", "Primitive", "Inline"]
    assert len(cublas.partition_for_cublas(mod).functions) == 2


def test_cudnn() -> None:
    x, k, b = v("x", 1, 4, 6, 6), v("k", 4, 4, 3, 3), v("b", 4)
    both = relay.nn.softmax(relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, k), b)))
    mod = cudnn.partition_for_cudnn(module(both))
    assert sorted(composites(mod)) == ["cudnn.conv2d_bias_act", "cudnn.softmax"]
    assert composites(cudnn.partition_for_cudnn(module(relay.nn.softmax(x, axis=1)))) == []
    uneven = relay.nn.conv2d(x, k, padding=(0, 0, 1, 1))
    assert composites(cudnn.partition_for_cudnn(module(uneven))) == []


CUTLASS = {
    "dense": dense,
    "dense_bias": lambda: relay.nn.bias_add(dense(), v("b", 16)),
    "dense_bias_relu": lambda: relay.nn.relu(relay.add(dense(), v("b", 16))),
    "dense_bias_gelu_fp32": lambda: gelu(relay.nn.bias_add(dense(), v("b", 16))),
    "conv2d": conv,
    "conv2d_bias_relu": lambda: relay.nn.relu(relay.nn.bias_add(conv(), v("b", 4), 3)),
    "conv2d_bias_residual_add_relu": lambda: relay.nn.relu(
        relay.nn.bias_add(conv(), v("b", 4), 3) + v("r", 1, 6, 6, 4)),
    "conv2d_backward_weight": lambda: relay.nn.conv2d_backward_weight(
        v("g", 1, 4, 4, 2), v("x", 1, 6, 6, 3), kernel_size=(3, 3), grad_layout="NHWC",
        data_layout="NHWC", kernel_layout="OHWI"),
}  # fmt: skip


@pytest.mark.parametrize("name", CUTLASS)
def test_cutlass(name: str) -> None:
    assert composites(cutlass.partition_for_cutlass(module(CUTLASS[name]()))) == [f"cutlass.{name}"]


def test_what_cutlass_leaves() -> None:
    for body in (dense("int16"), conv(groups=4), relay.exp(v("x", 2))):
        assert composites(cutlass.partition_for_cutlass(module(body))) == []
    widened = relay.add(relay.nn.bias_add(conv(), v("b", 4), 3), v("r", 1, 1, 1, 4))
    assert composites(cutlass.partition_for_cutlass(module(widened))) == ["cutlass.conv2d_bias"]
    with pytest.raises(TVMError, match="with_act 'tanh'"):
        cutlass.make_gemm_pattern(with_act="tanh")


def test_tables_by_name() -> None:
    names = [entry[0] for entry in get_pattern_table("cutlass")]
    assert names.index("cutlass.dense_bias_relu") < names.index("cutlass.dense")
    assert get_pattern_table("cudnn")[0][0] == "cudnn.softmax"
    assert get_pattern_table("no such compiler") is None


def test_the_partitioned_module_runs_with_constants_in_it() -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=s).astype("float32") for s in ((4, 8), (16, 8)))
    mod = cutlass.partition_for_cutlass(module(relay.nn.relu(dense())), {"w": w})
    assert composites(mod) == ["cutlass.dense"]
    found = relay.create_executor("graph", mod).evaluate()(x)
    np.testing.assert_allclose(found.numpy(), np.maximum(x @ w.T, 0), rtol=1e-4, atol=1e-5)


def dnnl_network(function: Any, bias_shape: tuple[int, ...] = (4, 1, 1)) -> Any:
    x, w = relay.var("x", shape=(1, 3, 6, 6)), relay.var("w", shape=(4, 3, 3, 3))
    bias = relay.var("b", shape=bias_shape)
    return relay.Function([x, w, bias], function(relay.add(relay.nn.conv2d(x, w), bias)))


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (relay.nn.relu, "dnnl.conv2d_bias_relu"),
        (lambda x: x, "dnnl.conv2d_bias"),
        (lambda x: relay.clip(x, 0, 6), "dnnl.conv2d_bias_clip"),
        (lambda x: x * relay.sigmoid(x), "dnnl.conv2d_bias_swish"),
        (lambda x: relay.nn.relu(relay.add(x, relay.var("y", shape=(1, 4, 4, 4)))),
         "dnnl.conv2d_bias_sum_relu"),
    ],
)  # fmt: skip
def test_dnnl_takes_convolutions_with_what_follows(function: Any, name: str) -> None:
    from tvm.relay.op.contrib import dnnl

    func = dnnl_network(function)
    func = relay.Function(relay.analysis.free_vars(func.body), func.body)
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(func))
    merged = relay.transform.MergeComposite(dnnl.pattern_table())(mod)
    assert merged["main"].body.op.attrs["Composite"] == name
    steps = [relay.transform.AnnotateTarget("dnnl"), relay.transform.MergeCompilerRegions(),
             relay.transform.PartitionGraph()]  # fmt: skip
    parted = tvm.transform.Sequential(steps)(merged)
    outside = [f for f in parted.functions.values() if f.attrs.get("Compiler") == "dnnl"]
    assert len(outside) == 1
    assert len(dnnl.prune_dnnl_subgraphs(parted).functions) == 2


def test_dnnl_biases_are_rows_of_channels() -> None:
    from tvm.relay.op.contrib import dnnl

    for shape, name in [((1, 4, 1, 1), "dnnl.conv2d_bias"), ((4, 4, 4), None), ((4,), None)]:
        mod = tvm.IRModule.from_expr(dnnl_network(lambda x: x, shape))
        merged = relay.transform.MergeComposite(dnnl.pattern_table())(
            relay.transform.InferType()(mod)
        )
        op = merged["main"].body.op
        assert (op.attrs["Composite"] if name else op.name) == (name or "add")


def test_dnnl_functions_without_products_return_to_main() -> None:
    from tvm.relay.op.contrib import dnnl

    x = relay.var("x", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.nn.relu(x))))
    steps = [relay.transform.InferType(), relay.transform.AnnotateTarget("dnnl"),
             relay.transform.MergeCompilerRegions(), relay.transform.PartitionGraph()]  # fmt: skip
    parted = tvm.transform.Sequential(steps)(mod)
    assert len(parted.functions) == 2
    pruned = relay.transform.InferType()(dnnl.prune_dnnl_subgraphs(parted))
    tvm.ir.assert_structural_equal(pruned, relay.transform.InferType()(mod))


def test_dnnl_has_a_table_by_name() -> None:
    from tvm.relay.op.contrib.register import get_pattern_table

    names = [entry[0] for entry in get_pattern_table("dnnl")]
    assert names[:2] == ["dnnl.qnn.conv2d", "dnnl.qnn.dense"]
    assert {"dnnl.deconv2d_bias_relu", "dnnl.dense_bias_gelu", "dnnl.conv3d_tanh"} <= {*names}
    assert "dnnl.conv2d" not in names


@pytest.mark.parametrize(
    ("layout", "shape", "taken"),
    [
        ("NHWC", (4,), True), ("NHWC", (1, 1, 1, 4), True), ("NHWC", (4, 1, 1), False),
        ("NCHW", (4, 1, 1), True), ("NCHW", (4,), False), ("NCHW", (1, 1, 1), False),
    ],
)  # fmt: skip
def test_a_bias_of_dnnl_stands_beside_the_channels(
    layout: str, shape: tuple[int, ...], taken: bool
) -> None:
    from tvm.relay.op.contrib import dnnl

    weight = (4, 4, 1, 1) if layout == "NCHW" else (1, 1, 4, 4)
    conv = relay.nn.conv2d(
        relay.var("x", shape=(1, 4, 4, 4)), relay.var("w", shape=weight), channels=4,
        kernel_size=(1, 1), data_layout=layout,
        kernel_layout="OIHW" if layout == "NCHW" else "HWIO",
    )  # fmt: skip
    mod = relay.transform.InferType()(module(relay.add(conv, relay.var("b", shape=shape))))
    merged = relay.transform.MergeComposite(dnnl.pattern_table())(mod)
    assert ("dnnl.conv2d_bias" in merged.astext()) is taken
