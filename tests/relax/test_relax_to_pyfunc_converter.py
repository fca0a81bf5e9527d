"""Relax functions as Python functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.programs import assert_same, run_interp
from tests.relax.random_functions import random_arguments, random_functions
from tvm import relax
from tvm.error import TVMError
from tvm.relax import RelaxToPyFuncConverter
from tvm.relax.py_tensors import to_numpy
from tvm.relax.pyfunc.torch_operators import OPERATOR_MAP
from tvm.relax.relax_to_pyfunc_converter import (
    RelaxExpressionConverter,
    convert_relax_to_pyfunc,
    source_of,
)
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.cpu


@tvm.register_global_func("test.converter.negate", override=True)
def _negate(x: Any, out: Any) -> None:
    out.copyfrom(-x.numpy())


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((5,), "float32"), y: R.Tensor((5,), "float32")):
        z = R.add(x, y)
        w = R.nn.relu(z)
        return w

    @R.function
    def negated(x: R.Tensor((5,), "float32")) -> R.Tensor((5,), "float32"):
        y = R.call_dps_packed("test.converter.negate", (x,), R.Tensor((5,), "float32"))
        z = Module.main(y, x)
        return z


X = np.linspace(-2, 2, 5, dtype="float32")


def test_converted_functions_are_python_functions() -> None:
    made = RelaxToPyFuncConverter(Module).convert("main")
    np.testing.assert_allclose(made.pyfuncs["main"](X, X), np.maximum(X + X, 0))
    facts = made["main"].attrs
    assert facts["is_pyfunc"]
    assert "z = torch.add(x, y)" in str(facts["python_source"])
    assert isinstance(made["negated"], relax.Function)
    assert "@I.pyfunc" in made.script()
    assert isinstance(Module["main"], relax.Function)


def test_several_at_once_and_calls_between_them() -> None:
    made = convert_relax_to_pyfunc(Module, ["main", "negated"])
    np.testing.assert_allclose(made.pyfuncs["negated"](X), np.zeros(5))


def test_unknown_names_and_wrong_counts_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no Relax function of this name; did you mean 'main'"):
        RelaxToPyFuncConverter(Module).convert("mian")
    with pytest.raises(ValueError, match="Expected 2 arguments, got 1"):
        RelaxToPyFuncConverter(Module).convert("main").pyfuncs["main"](X)


def test_single_expressions() -> None:
    x = relax.Var("x", relax.TensorStructInfo((5,), "float32"))
    call = relax.BlockBuilder().normalize(relax.op.exp(x))
    converter = RelaxExpressionConverter(OPERATOR_MAP, Module)
    np.testing.assert_allclose(converter.convert_expr(call, [X]), np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(converter.convert_expr(Module["main"], [X, X])[-1], 4)
    with pytest.raises(TVMError, match="has no value here"):
        RelaxExpressionConverter(OPERATOR_MAP).convert_expr(call, [])


def test_source() -> None:
    assert source_of("main", Module["main"]) == (
        "def main(x, y):\n    z = torch.add(x, y)\n"
        "    w = torch.nn.functional.relu(z)\n    return w"
    )


@pytest.mark.parametrize("seed", range(3))
def test_random_functions(seed: int) -> None:
    mod = random_functions(seed, 8)
    names = [f"f{i}" for i in range(8)]
    made, args = RelaxToPyFuncConverter(mod).convert(names), random_arguments(seed)
    for name in names:
        assert_same(run_interp(mod, args, name), to_numpy(made.pyfuncs[name](*args)), 1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_random_functions_on_torch(seed: int) -> None:
    torch = pytest.importorskip("torch")

    def given(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(given(one) for one in value)
        return torch.from_numpy(value)

    mod = random_functions(seed, 8)
    names = [f"f{i}" for i in range(8)]
    made, args = RelaxToPyFuncConverter(mod).convert(names), random_arguments(seed)
    for name in names:
        found = made.pyfuncs[name](*[given(arg) for arg in args])
        first = found[0] if isinstance(found, tuple) else found
        assert isinstance(first, torch.Tensor)
        assert_same(run_interp(mod, args, name), to_numpy(found), 1e-4)


def test_a_packed_function_may_give_its_result() -> None:
    tvm.register_global_func(
        "test.converter.twice", lambda x: tvm.runtime.tensor(x.numpy() * 2), override=True
    )

    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((5,), "float32")):
            return R.call_dps_packed("test.converter.twice", (x,), R.Tensor((5,), "float32"))

    found = RelaxToPyFuncConverter(Mod).convert("main").pyfuncs["main"](X)
    np.testing.assert_allclose(to_numpy(found), X * 2)


def test_the_map_of_operators() -> None:
    found = RelaxToPyFuncConverter._get_op_map()
    assert found == dict(RelaxToPyFuncConverter.operator_map)
    assert found["relax.nn.relu"]
