"""Programs become modules; what has no converter is listed. Records stand for MLIR's modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm.error import OpNotImplemented
from tvm.relax.frontend.stablehlo import from_stablehlo
from tvm.relax.frontend.stablehlo.program import Operation, Region, Value
from tvm.relax.interp import Interpreter
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


def _program(arguments: list[Value], *operations: Operation) -> dict[str, Region]:
    """A program whose last operation's results are its own."""
    end = Operation("func.return", operations[-1].results, [], {}, [])
    return {"main": Region(arguments, [*operations, end])}


def _op(
    name: str, operands: list[Value], result: Value, where: str = "", **attrs: Any
) -> Operation:
    return Operation(f"stablehlo.{name}", operands, [result], attrs, [], where)


def test_extents_that_are_not_known_become_symbols() -> None:
    a, b, c = (Value((None, None), "float32", name) for name in ("arg0", "arg1", ""))

    @I.ir_module
    class Expected:
        @R.function
        def main(
            arg0: R.Tensor(("n_0", "n_1"), dtype="float32"),
            arg1: R.Tensor(("n_2", "n_3"), dtype="float32"),
        ) -> R.Tensor(dtype="float32", ndim=2):
            n_0, n_1, n_2, n_3 = T.int64(), T.int64(), T.int64(), T.int64()
            with R.dataflow():
                lv: R.Tensor(dtype="float32", ndim=2) = R.add(arg0, arg1)
                gv: R.Tensor(dtype="float32", ndim=2) = lv
                R.output(gv)
            return gv

    tvm.ir.assert_structural_equal(
        from_stablehlo(_program([a, b], _op("add", [a, b], c))), Expected
    )


def test_input_info_overrides_types() -> None:
    a, b = Value((None, 3), "float32", "x"), Value((None, 3), "float32")
    program = _program([a], _op("abs", [a], b))
    (param,) = from_stablehlo(program, [((2, 3), "float16")])["main"].params
    assert str(param.struct_info) == 'R.Tensor((2, 3), dtype="float16")'
    with pytest.raises(ValueError, match="2 of input_info, 1 parameters"):
        from_stablehlo(program, [((2, 3), "float16")] * 2)


def test_a_called_function_is_written_out() -> None:
    x, inner, made, out = (Value((2,), "float32") for _ in range(4))
    twice = _program([inner], _op("add", [inner, inner], made))["main"]
    call = Operation("func.call", [x], [out], {"callee": "@twice"}, [])
    mod = from_stablehlo(_program([x], call) | {"twice": twice})
    assert [var.name_hint for var in mod.get_global_vars()] == ["main"]
    found = Interpreter(mod).run("main", np.array([1, 2], "float32"))
    np.testing.assert_array_equal(found, [2, 4])


def test_reductions_with_regions() -> None:
    """A region that no operator of Relax stands for becomes the reducer of a kernel."""
    x, start, out = Value((3, 2), "int32"), Value((), "int32"), Value((2,), "int32")
    a, b, joined = (Value((), "int32") for _ in range(3))
    region = _program([a, b], _op("or", [a, b], joined))["main"]
    zero = _op("constant", [], start, value=np.array(0, "int32"))
    reduce = Operation("stablehlo.reduce", [x, start], [out], {"dimensions": [0]}, [region])
    mod = from_stablehlo(_program([x], zero, reduce))
    found = Interpreter(mod).run("main", np.array([[1, 2], [4, 2], [1, 8]], "int32"))
    np.testing.assert_array_equal(found, [5, 10])


def test_all_unknown_operators_are_listed_with_their_places() -> None:
    x, y, z = (Value((2, 2), "float32") for _ in range(3))
    program = _program(
        [x], _op("rng", [x], y, "line 1"), _op("send", [y], z, "line 2")
    )
    with pytest.raises(OpNotImplemented) as raised:
        from_stablehlo(program)
    assert "stablehlo.rng at line 1" in str(raised.value)
    assert "stablehlo.send at line 2" in str(raised.value)


def test_an_error_names_the_operator_and_its_place() -> None:
    x, y = Value((2, None), "float32"), Value((4,), "float32")
    with pytest.raises(ValueError, match=r"axis=5\s+where: line 7"):
        from_stablehlo(_program([x], _op("reverse", [x], y, "line 7", dimensions=[5])))


def test_bindings_carry_their_places() -> None:
    x, y = Value((2,), "float32"), Value((2,), "float32")
    main = from_stablehlo(_program([x], _op("abs", [x], y, "model.py:3")))["main"]
    assert str(main.body.blocks[0].bindings[0].value.span.source_name.name) == "model.py:3"
