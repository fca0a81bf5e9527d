"""MLIR's text and modules as records."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.relax.frontend.stablehlo.program import _from_text, read_program


def test_constants_whose_format_has_no_letter() -> None:
    single = np.dtype("float32")
    assert _from_text("dense<[1.5, -2.0]> : tensor<2xf32>", single, [2]).tolist() == [1.5, -2.0]
    assert _from_text("dense<0x7F800000> : tensor<f32>", single, []).item() == np.inf
    assert _from_text("dense<2.0> : tensor<2x2xf32>", single, [2, 2]).tolist() == [[2, 2], [2, 2]]
    both = _from_text('dense<"0x0000803F00000040"> : tensor<2xf32>', single, [2])
    assert both.tolist() == [1.0, 2.0]


TEXT = """
func.func private @twice(%a: tensor<?x3xbf16>) -> tensor<?x3xbf16> {
  %0 = stablehlo.add %a, %a : tensor<?x3xbf16>
  return %0 : tensor<?x3xbf16>
}
func.func @start(%x: tensor<?x3xbf16>) -> tensor<?x3xbf16> {
  %c = stablehlo.constant dense<[1.5, 2.0]> : tensor<2xbf16>
  %0 = call @twice(%x) : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
  return %0 : tensor<?x3xbf16>
}
"""


def test_functions_values_and_attributes() -> None:
    pytest.importorskip("jax")
    program = read_program(TEXT)
    assert list(program) == ["start", "twice"]  # the public one is first
    start, twice = program.values()
    assert [(v.shape, v.dtype) for v in start.arguments] == [((None, 3), "bfloat16")]
    constant, call, last = start.operations
    assert constant.attrs["value"].astype("float32").tolist() == [1.5, 2.0]
    assert (call.name, call.attrs["callee"].lstrip("@")) == ("func.call", "twice")
    assert call.operands == start.arguments
    assert last.operands == call.results
    assert twice.operations[0].operands == twice.arguments * 2
    assert "-" in call.where


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ("module {", ValueError, "a module of StableHLO"),
        ("module {}", ValueError, "no public function"),
        (3, TypeError, "found: int"),
    ],
)
def test_what_is_refused(given: object, kind: type[Exception], text: str) -> None:
    pytest.importorskip("jax")
    with pytest.raises(kind, match=text):
        read_program(given)
