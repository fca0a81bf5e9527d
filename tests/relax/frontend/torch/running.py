"""How cases run: as torch runs them, and as imported programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.relax.frontend.torch import from_exported_program, from_fx
from tvm.relax.interp import Interpreter

from .cases import Case, tensor

torch = pytest.importorskip("torch")


def inputs_of(case: Case) -> tuple[Any, ...]:
    """The inputs of a case, always the same."""
    generator = torch.Generator().manual_seed(0)
    return tuple(tensor(spec, generator) for spec in case.inputs)


def module_of(func: Callable[..., Any], count: int = 1) -> Any:
    """A module whose method `forward` takes `count` tensors, x0, x1, ..."""
    names = ", ".join(f"x{i}" for i in range(count))
    scope: dict[str, Any] = {"func": func}
    exec(f"def forward(self, {names}):\n    return func({names})", scope)
    made: Any = type("Function", (torch.nn.Module,), {"forward": scope["forward"]})
    return made().eval()


def flat(value: Any) -> list[Any]:
    """Results one after the other, as arrays."""
    if isinstance(value, (np.ndarray, np.generic)):
        return [np.asarray(value)]
    if hasattr(value, "detach"):
        return [value.detach().numpy()]
    if hasattr(value, "numpy"):
        return [value.numpy()]
    if isinstance(value, int):
        return [np.asarray(value)]
    return [part for one in value for part in flat(one)]


def assert_same(found: Any, wanted: Any, rtol: float = 1e-4) -> None:
    """Shapes, data types and numbers."""
    got, want = flat(found), flat(wanted)
    assert len(got) == len(want)
    for have, should in zip(got, want):
        assert have.dtype == should.dtype
        assert have.shape == should.shape
        close = 1e-2 if should.dtype == np.float16 else rtol
        np.testing.assert_allclose(have, should, rtol=close, atol=1e-5)


def interpreted(mod: IRModule, args: Sequence[Any]) -> Any:
    return Interpreter(mod).run("main", *(arg.numpy() for arg in args))


def compiled(mod: IRModule) -> Callable[..., Any]:
    """The compiled `main`, for tensors of torch."""
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    return lambda *args: vm["main"](*(tvm.runtime.tensor(arg.numpy()) for arg in args))


def exported(func: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The function as an exported program."""
    model = func if isinstance(func, torch.nn.Module) else module_of(func, len(args))
    return torch.export.export(model, args, **options)


def check(case: Case) -> None:
    """The exported program, imported and interpreted, gives what torch gives."""
    args = inputs_of(case)
    mod = from_exported_program(exported(case.func, *args))
    assert relax.analysis.well_formed(mod)
    assert_same(interpreted(mod, args), case.func(*args))


def check_traced(case: Case) -> None:
    """The same of the traced function."""
    args = inputs_of(case)
    graph = torch.fx.symbolic_trace(module_of(case.func, len(args)))
    mod = from_fx(graph, [(tuple(arg.shape), str(arg.dtype)) for arg in args])
    assert_same(interpreted(mod, args), case.func(*args))


def check_sizes(model: Any, shapes: Sequence[tuple[int, ...]], rtol: float = 1e-4) -> None:
    """One compiled program of a module gives what torch gives, at several sizes of its input."""
    given = [torch.randn(shape, generator=torch.Generator().manual_seed(5)) for shape in shapes]
    open_axes = {
        axis: torch.export.Dim.AUTO
        for axis in range(given[0].ndim)
        if len({one.shape[axis] for one in given}) > 1
    }
    program = exported(model.eval(), given[0], dynamic_shapes=(open_axes,))
    run = compiled(from_exported_program(program))
    for x in given:
        with torch.no_grad():
            assert_same(run(x), model(x), rtol)


def of_parts(func: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
    """A function of complex tensors as one of their parts; the first `count` inputs are complex."""
    return lambda *x: torch.view_as_real(
        func(*(torch.view_as_complex(one) for one in x[:count]), *x[count:])
    )
