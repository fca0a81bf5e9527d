"""Kernels split into a call of a library and the rest."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tests.relax.transform.library_patterns import bias, matmul
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.relax import transform as t
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Layer:
    @R.function
    def main(
        x: R.Tensor((8, 16), "float32"),
        w: R.Tensor((16, 4), "float32"),
        b: R.Tensor((4,), "float32"),
    ) -> R.Tensor((8, 4), "float32"):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.add(y, b)
            r = R.nn.relu(z)
            R.output(r)
        return r


def fused(mod: IRModule = Layer) -> IRModule:
    steps = [t.LegalizeOps(), t.AnnotateTIROpPattern(), t.FuseOps(), t.FuseTIR()]
    return tvm.ir.transform.Sequential(steps)(mod)


def library(count: int, *order: int) -> Any:
    """Source for so many matches; its buffers are those of the matches, by number."""

    def generate(matches: Any) -> list[Any]:
        buffers = [buffer for match in matches for buffer in match.matched_buffers]
        return ["void {global_symbol}();", count, [buffers[i] for i in order]]

    return generate


def calls(mod: IRModule) -> list[relax.Call]:
    return [binding.value for binding in mod["main"].body.blocks[0].bindings]


@pytest.mark.parametrize(
    ("count", "order", "rest"),
    [(1, (0, 1, 2), 2), (2, (0, 1, 4, 5), 1)],
    ids=["product", "bias too"],
)
def test_covered_blocks_are_the_library_s(count: int, order: Any, rest: int) -> None:
    mod = t.SplitCallTIRByPattern([matmul, bias], library(count, *order))(fused())
    first, second = calls(mod)
    extern = first.args[0]
    assert isinstance(extern, relax.ExternFunc)
    assert dict(extern.attrs) == {"c_source": "void fused_matmul_add_relu();", "c_source_fmt": "cu"}
    operands = [var.name_hint for var in first.args[1].fields]
    assert operands == ["x", "w", "b"][: len(order) - 1]
    assert sorted(g.name_hint for g in mod.functions) == ["main", "unfused_epilogue"]
    epilogue = mod[second.args[0]]
    assert isinstance(epilogue, tir.PrimFunc)
    assert len(epilogue.params) == rest + 1
    assert second.args[1].fields[0] is mod["main"].body.blocks[0].bindings[0].var
    assert relax.analysis.well_formed(mod)


def test_a_kernel_may_be_the_library_s_as_a_whole() -> None:
    @I.ir_module
    class Product:
        @R.function
        def main(
            x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 4), "float32")
        ) -> R.Tensor((8, 4), "float32"):
            with R.dataflow():
                y = R.matmul(x, w)
                R.output(y)
            return y

    mod = t.SplitCallTIRByPattern([matmul], library(1, 0, 1, 2))(t.LegalizeOps()(Product))
    (call,) = calls(mod)
    assert call.op is tvm.ir.Op.get("relax.call_dps_packed")
    assert [g.name_hint for g in mod.functions] == ["main"]


def test_what_is_not_covered_stays() -> None:
    before = fused()
    for generate in (library(0), lambda matches: []):
        tvm.ir.assert_structural_equal(
            t.SplitCallTIRByPattern([matmul], generate)(before), before
        )
    tvm.ir.assert_structural_equal(
        t.SplitCallTIRByPattern([bias], library(1, 0, 1, 2))(before), before
    )


def test_buffers_that_are_no_operands_are_refused() -> None:
    with pytest.raises(TVMError, match="fcodegen gives for fused_matmul_add_relu"):
        t.SplitCallTIRByPattern([matmul], library(1, 0, 2, 1))(fused())
