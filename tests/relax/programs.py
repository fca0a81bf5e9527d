"""What tests of Relax share: the form of a pass's test, random arguments, three ways to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

import tvm
from tvm import relax, tir
from tvm.ir import IRModule
from tvm.relax.analysis.well_formed import faults_of
from tvm.relax.interp import Interpreter, Shape
from tvm.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.testing.pass_test import PassTest
from tvm.tir.functor import substitute
from tvm.tir.interp import evaluate

Sizes = dict[str, int]


class RelaxPassTest(PassTest):
    """`Before` and `Expected` are modules; `sizes` gives symbols their numbers by name."""

    sizes: ClassVar[Sizes] = {}
    entry: ClassVar[str] = "main"

    def test_is_well_formed(self) -> None:
        """What the pass made keeps all rules."""
        if not self._raises():
            assert faults_of(self._after()) == []

    def test_gives_the_same_results(self) -> None:
        """Before and after compute the same from the same inputs."""
        if self._raises() or not type(self).same_results:
            return
        before, after = self._before(), self._after()
        entry = type(self).entry
        args = arguments(before[entry], type(self).sizes)
        assert_same(run_interp(before, args, entry), run_interp(after, args, entry))


def arguments(func: relax.Function, sizes: Sizes | None = None, seed: int = 0) -> list[Any]:
    """A random value for each parameter."""
    rng = np.random.default_rng(seed)
    return [_value(rng, param.struct_info, sizes or {}) for param in func.params]


def _value(rng: np.random.Generator, info: StructInfo, sizes: Sizes) -> Any:
    if isinstance(info, TensorStructInfo):
        return _array(rng, [_number(extent, sizes) for extent in info.shape.values], info.dtype)
    if isinstance(info, TupleStructInfo):
        return tuple(_value(rng, field, sizes) for field in info.fields)
    if isinstance(info, ShapeStructInfo):
        return Shape(_number(extent, sizes) for extent in info.values)
    assert isinstance(info, PrimStructInfo)
    return _number(info.value, sizes) if info.value is not None else int(rng.integers(1, 5))


def _number(extent: Any, sizes: Sizes) -> int:
    symbols = {v: sizes[v.name] for v in tir.analysis.undefined_vars(extent)}
    return int(evaluate(substitute(extent, symbols)))


def _array(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> Any:
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype("bool")
    if str(dtype).startswith(("int", "uint")):
        return rng.integers(0, 8, shape).astype(str(dtype))
    return rng.uniform(-2, 2, shape).astype(str(dtype))


def run_interp(mod: IRModule, args: Sequence[Any], name: str = "main") -> Any:
    """The result by the meaning of the program."""
    return Interpreter(mod).run(name, *args)


def run_compiled(
    mod: IRModule, args: Sequence[Any], mode: str = "compiled", name: str = "main", **options: Any
) -> Any:
    """The result of the compiled program, as arrays and tuples."""
    executable = relax.build(mod, "llvm", exec_mode=mode, **options)
    return as_arrays(relax.VirtualMachine(executable, tvm.cpu())[name](*args))


def as_arrays(value: Any) -> Any:
    """Tensors of a result as arrays."""
    if hasattr(value, "numpy"):
        return value.numpy()
    if isinstance(value, (tuple, list)) or type(value).__name__ in ("Array", "List"):
        return tuple(as_arrays(one) for one in value)
    return value


def assert_same(wanted: Any, found: Any, tolerance: float = 1e-5) -> None:
    """Equal in structure, shape, type, and in value up to rounding."""
    if isinstance(wanted, (tuple, list)):
        assert len(wanted) == len(found)
        for a, b in zip(wanted, found):
            assert_same(a, b, tolerance)
        return
    a, b = np.asarray(wanted), np.asarray(found)
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)


def calls(mod: IRModule, name: str = "main") -> list[str]:
    """What the bindings of a function call, in order."""
    found = []
    for block in mod[name].body.blocks:
        for binding in block.bindings:
            value = binding.value
            if isinstance(value, relax.Call):
                callee = value.op
                if getattr(callee, "name", "") == "relax.call_tir":
                    callee = value.args[0]
                keys = ("name", "name_hint", "global_symbol")
                names = (getattr(callee, key, None) for key in keys)
                found.append(next(name for name in names if name))
    return found
