from __future__ import annotations

from typing import Any

import pytest

from tests.relax.backend.cuda_programs import graph, op
from tvm import relax
from tvm.relax.backend import get_patterns_with_prefix
from tvm.relax.backend.contrib import nnapi
from tvm.relax.backend.contrib.nnapi import min_feature_level, partition_for_nnapi

pytestmark = pytest.mark.pure


def composites(mod: Any) -> list[str]:
    text = mod.script()
    return [line.split('"Composite": "')[1].split('"')[0] for line in text.splitlines()
            if '"Composite": "' in line]  # fmt: skip


def test_levels() -> None:
    def make(bb: relax.BlockBuilder, x: Any, y: Any) -> Any:
        return op.matmul(bb.emit(op.exp(bb.emit(op.add(x, y)))), y)

    mod = graph((8, 8), (8, 8), dtype="float32", make=make)
    everything = ["nnapi.add", "nnapi.batch_matmul", "nnapi.exp"]
    assert sorted(composites(partition_for_nnapi(mod))) == everything
    assert composites(partition_for_nnapi(mod, feature_level=1)) == ["nnapi.add"]
    assert sorted(composites(partition_for_nnapi(mod, 3))) == ["nnapi.add", "nnapi.exp"]
    assert '"Codegen": "nnapi"' in partition_for_nnapi(mod).script()


def test_a_convolution_has_a_bias() -> None:
    def make(bb: relax.BlockBuilder, x: Any, w: Any, b: Any) -> Any:
        return op.add(bb.emit(op.nn.conv2d(x, w)), b)

    shapes = (1, 4, 8, 8), (8, 4, 3, 3), (1, 8, 1, 1)
    assert composites(partition_for_nnapi(graph(*shapes, dtype="float32", make=make))) == [
        "nnapi.conv2d"
    ]


def test_casts() -> None:
    for source, target in (("float32", "float16"), ("int8", "float32")):
        mod = graph((8,), dtype=source, make=lambda bb, x, to=target: op.astype(x, to))
        assert composites(partition_for_nnapi(mod)) == ["nnapi.cast"]
    assert nnapi.astype_pattern()[0] == "nnapi.cast"


@pytest.mark.parametrize(("relax_name", "name"), [
    ("nn.relu", "relu"), ("sigmoid", "logistic"), ("negative", "neg"), ("nn.softmax", "softmax"),
])  # fmt: skip
def test_the_names_of_the_api(relax_name: str, name: str) -> None:
    func = op.nn if relax_name.startswith("nn.") else op
    mod = graph((8, 8), dtype="float32",
                make=lambda bb, x: getattr(func, relax_name.removeprefix("nn."))(x))  # fmt: skip
    assert composites(partition_for_nnapi(mod)) == [f"nnapi.{name}"]


def test_names() -> None:
    assert min_feature_level("nnapi.div") == 2
    assert all(min_feature_level(p.name) >= 1 for p in get_patterns_with_prefix("nnapi"))
    with pytest.raises(ValueError, match=r"no pattern 'nnapi\.sort'"):
        min_feature_level("nnapi.sort")
