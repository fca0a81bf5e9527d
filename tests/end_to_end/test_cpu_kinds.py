"""Random programs give the same on every kind of CPU, at every level, on one thread and on two.

Kernels of random typed programs and blocks must agree bit for bit with the interpreter; graphs of
operators agree within rounding, with symbols for extents as with numbers; and elements that are no
ordinary numbers (NaN, infinities, denormals, zeros of both signs) go where they belong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tvm
from tests.covering import few
from tests.end_to_end import test_differential as differential
from tests.end_to_end.cpus import CPUS
from tests.end_to_end.random_block_programs import TensorMaker, ViewMaker
from tests.relax.op.random_graphs import random_graph
from tests.relax.op.test_random_graphs import _flat as flat
from tests.relax.op.test_random_graphs import _sensitivity as sensitivity
from tests.relax.programs import as_arrays, assert_same
from tests.relax.random_functions import random_arguments, random_functions
from tests.tir.transform.random_programs import Maker
from tests.tir.transform.random_typed_programs import TypedMaker
from tvm import relax
from tvm.relax import interp, op
from tvm.runtime import threads
from tvm.testing.random_inputs import random_inputs

pytestmark = pytest.mark.cpu


@pytest.fixture(params=CPUS)
def targets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The differential tests ask these instead of their own."""
    found = tuple(f"llvm -mcpu={request.param} -opt-level={level}" for level in (0, 2, 3))
    monkeypatch.setattr(differential, "TARGETS", found)
    return found


def kernels(seeds: Sequence[int]) -> None:
    differential.check([Maker(seed).program() for seed in seeds], random_inputs)
    arithmetic = [differential.Arithmetic(seed).program() for seed in seeds]
    differential.check(arithmetic, differential.any_bits, exact=True)
    for make in (TypedMaker, TensorMaker, ViewMaker):
        differential.check_bits([make(seed) for seed in seeds])


def test_kernels(targets: tuple[str, ...]) -> None:
    kernels([500])


@pytest.mark.long
@pytest.mark.parametrize("start", range(20_000, 20_400, 40))
def test_many_kernels(start: int, targets: tuple[str, ...]) -> None:
    kernels(range(start, start + 40))


# --- values that are no ordinary numbers ---

TINY = np.float32(1e-40)  # a denormal
ODD = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, TINY, -TINY, 1.0, -1.5, 3.4e38, -3.4e38, 0.5, 1e-30],
    "float32",
)


def _zero(x: Any) -> Any:
    return relax.const(np.float32(0))


# by name: the operator, numpy's, and whether zeros must keep their signs
ELEMENTS: dict[str, tuple[Any, Any, bool]] = {
    "abs": (op.abs, np.abs, True),
    "negative": (op.negative, np.negative, True),
    "floor": (op.floor, np.floor, True),
    "ceil": (op.ceil, np.ceil, True),
    "trunc": (op.trunc, np.trunc, True),
    "sqrt": (op.sqrt, np.sqrt, True),
    "exp": (op.exp, np.exp, False),
    "log": (op.log, np.log, False),
    "tanh": (op.tanh, np.tanh, True),
    "sigmoid": (op.sigmoid, lambda x: 1 / (1 + np.exp(-x.astype("float64"))), False),
    "isnan": (op.isnan, np.isnan, False),
    "isinf": (op.isinf, np.isinf, False),
    "isfinite": (op.isfinite, np.isfinite, False),
    "square": (op.square, np.square, False),
    # adding zero is nothing, as in the original: -0.0 stays what it is
    "add zero": (lambda x: op.add(x, _zero(x)), lambda x: x + np.float32(0), False),
    "double": (lambda x: op.multiply(x, relax.const(np.float32(2))), lambda x: x * 2, True),
    "times zero": (lambda x: op.multiply(x, _zero(x)), lambda x: x * np.float32(0), True),
    "over zero": (lambda x: op.divide(x, _zero(x)), lambda x: x / np.float32(0), False),
    "less": (lambda x: op.less(x, _zero(x)), lambda x: x < 0, False),
    "equal": (lambda x: op.equal(x, x), lambda x: x == x, False),
    "minus itself": (lambda x: op.subtract(x, x), lambda x: x - x, False),
}


def machine(func: Any, shape: Sequence[int | str], target: str) -> relax.VirtualMachine:
    """The function of one tensor, compiled."""
    known = {d: tvm.tir.Var(d, "int64") for d in shape if isinstance(d, str)}
    bb = relax.BlockBuilder()
    info = relax.TensorStructInfo([known.get(d, d) for d in shape], "float32")  # type: ignore[call-overload]
    x = relax.Var("x", info)
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(relax.Tuple([bb.emit(one) for one in func(x)]))
        bb.emit_func_output(out)
    return relax.VirtualMachine(tvm.compile(bb.get(), target), tvm.cpu())


def several(func: Any, shape: Sequence[int | str], data: np.ndarray, target: str) -> list[Any]:
    return [
        value.numpy() for value in machine(func, shape, target)["main"](tvm.runtime.tensor(data))
    ]


def _elements(x: relax.Var) -> list[Any]:
    return [make(x) for make, _, _ in ELEMENTS.values()]


@pytest.mark.covering(1)
@pytest.mark.parametrize("shape", [(7, 13), ("n", "m")])
def test_odd_numbers(shape: tuple[int | str, ...], targets: tuple[str, ...]) -> None:
    data = np.tile(ODD, (7, 1))
    with np.errstate(all="ignore"):
        wanted = {name: reference(data) for name, (_, reference, _) in ELEMENTS.items()}
    for target in targets[1:2]:
        found = several(_elements, shape, data, target)
        for (name, (_, _, signed)), value in zip(ELEMENTS.items(), found, strict=True):
            want = np.asarray(wanted[name])
            np.testing.assert_allclose(value, want, rtol=1e-5, atol=1e-37, err_msg=name)
            if signed:
                zeros = (want == 0) & (value == 0)
                same = np.signbit(value[zeros]) == np.signbit(want[zeros])
                assert same.all(), f"{name}: signs of zeros"


@pytest.mark.parametrize("targets", few(CPUS[::-1], 1), indirect=True)
def test_empty_tensors(targets: tuple[str, ...]) -> None:
    def func(x: relax.Var) -> list[Any]:
        return [
            *_elements(x)[:4], op.sum(x, [1]), op.nn.softmax(x, -1), op.cumsum(x, 1),
            op.matmul(x, op.permute_dims(x)), op.concat([x, x], 0), op.sort(x, 0),
        ]  # fmt: skip

    fixed = {
        shape: several(func, shape, np.zeros(shape, "float32"), targets[1])
        for shape in ((0, 3), (0, 0))
    }
    run = machine(func, ("n", "m"), targets[1])["main"]
    for shape, wanted in fixed.items():
        found = run(tvm.runtime.tensor(np.zeros(shape, "float32")))
        for value, want in zip(found, wanted, strict=True):
            assert value.numpy().shape == want.shape
            np.testing.assert_array_equal(value.numpy(), want)


# --- graphs ---


@pytest.fixture(params=[1, 2])
def thread_count(request: pytest.FixtureRequest) -> Iterator[int]:
    before = threads.thread_count()
    threads.config_threads(request.param)
    yield request.param
    threads.config_threads(before)


def graphs(seeds: Sequence[int], targets: Sequence[str], longest: int) -> None:
    """What is compiled for each target gives what the interpreter gives."""
    for seed in seeds:
        graph = random_graph(seed, longest=longest)
        wanted = flat(interp.run(graph.module, *graph.arrays))
        moved = sensitivity(graph, wanted)
        for target in targets:
            vm = relax.VirtualMachine(tvm.compile(graph.module, target=target), tvm.cpu())
            found = flat(vm["main"](*map(tvm.runtime.tensor, graph.arrays)))
            for a, b, m in zip(found, wanted, moved, strict=True):
                assert a.dtype == b.dtype, graph.ops
                atol = 2e-3 + 20 * float(np.max(m, initial=0))
                note = f"graph {seed}, {target}, {graph.ops}"
                np.testing.assert_allclose(a, b, rtol=2e-3, atol=atol, err_msg=note)


@pytest.mark.covering(1)
def test_graphs(targets: tuple[str, ...], thread_count: int) -> None:
    graphs([4], targets[1:2], longest=6)


@pytest.mark.long
@pytest.mark.parametrize("start", range(2000, 2100, 20))
def test_many_graphs(start: int, targets: tuple[str, ...], thread_count: int) -> None:
    graphs(range(start, start + 20), targets[::2], longest=20)


def with_numbers(mod: tvm.IRModule, names: Sequence[str], rows: int) -> tvm.IRModule:
    """The functions with a number for their symbol, where they have one."""
    for name in names:
        if any(var.name == "n" for var in relax.analysis.defined_symbolic_vars(mod[name])):
            mod = relax.transform.BindSymbolicVars({"n": rows}, name)(mod)
    return mod


def symbols(seed: int, target: str) -> None:
    mod = random_functions(seed, 6)
    names = [f"f{i}" for i in range(6)]
    free = relax.VirtualMachine(tvm.compile(mod, target), tvm.cpu())
    bound = relax.VirtualMachine(tvm.compile(with_numbers(mod, names, 4), target), tvm.cpu())
    args = random_arguments(seed)
    for name in names:
        assert_same(as_arrays(free[name](*args)), as_arrays(bound[name](*args)), 1e-5)


def test_symbols_and_numbers(targets: tuple[str, ...]) -> None:
    symbols(1, targets[1])


@pytest.mark.long
@pytest.mark.parametrize("start", range(300, 400, 20))
def test_many_symbols_and_numbers(start: int, targets: tuple[str, ...]) -> None:
    for seed in range(start, start + 20):
        symbols(seed, targets[1])
