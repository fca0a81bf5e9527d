"""The forms that programs get: axes and slices as written, powers, bounds, new tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tvm
from tvm import relax
from tvm.relax import op
from tvm.relax.frontend.torch import from_exported_program, from_fx
from tvm.relax.interp import Interpreter

from .running import assert_same, exported, flat, module_of

torch = pytest.importorskip("torch")
F = torch.nn.functional

CUBE, MATRIX, ROW = (2, 3, 4), (4, 5), (5,)
Parts = list[Any]


def assert_form(func: Callable[..., Any], shapes: Parts, build: Callable[..., Any]) -> None:
    """The function becomes what `build` writes, and gives what torch gives."""
    args = [torch.rand(shape, generator=torch.Generator().manual_seed(0)) - 0.4 for shape in shapes]
    found = from_exported_program(exported(func, *args))
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(shape, "float32"))
        for i, shape in enumerate(shapes)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            made = build(bb, *params)
            output = bb.emit_output(relax.Tuple(list(made) if isinstance(made, tuple) else [made]))
        bb.emit_func_output(output)
    tvm.ir.assert_structural_equal(found, bb.get())
    results = Interpreter(found).run("main", *(arg.numpy() for arg in args))
    wanted = [w for w in flat(func(*args))]
    assert_same(results, tuple(wanted))


def c(value: float) -> Any:
    return relax.const(value, "float32")


AXES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "mean": (lambda x: x.mean(-1), lambda x: op.mean(x, [-1])),
    "sum": (lambda x: x.sum((-1, 0), keepdim=True), lambda x: op.sum(x, [-1, 0], True)),
    "prod": (lambda x: x.prod(-2), lambda x: op.prod(x, [-2])),
    "amax": (lambda x: x.amax(-1), lambda x: op.max(x, [-1])),
    "amin": (lambda x: x.amin(dim=-2), lambda x: op.min(x, [-2])),
    "argmax": (lambda x: x.argmax(-1), lambda x: op.argmax(x, -1)),
    "variance": (lambda x: x.var(-1, correction=0), lambda x: op.variance(x, [-1])),
    "cumsum": (lambda x: x.cumsum(-1), lambda x: op.cumsum(x, -1)),
    "cumprod": (lambda x: x.cumprod(dim=-2), lambda x: op.cumprod(x, -2)),
    "flip": (lambda x: x.flip(-1), lambda x: op.flip(x, -1)),
    "permute": (lambda x: x.permute(-1, 0, 1), lambda x: op.permute_dims(x, [-1, 0, 1])),
    "argsort": (lambda x: x.argsort(-1), lambda x: op.argsort(x, -1, False, "int64")),
    "repeat": (lambda x: x.repeat_interleave(2, -1), lambda x: op.repeat(x, 2, -1)),
    "select": (
        lambda x: x.select(-1, -2), lambda x: op.take(x, relax.const(2, "int64"), -1)
    ),
    "narrow": (lambda x: x.narrow(-1, 1, 2), lambda x: op.strided_slice(x, [-1], [1], [3])),
}  # fmt: skip


@pytest.mark.parametrize("name", AXES)
def test_axes_stay_as_they_were_written(name: str) -> None:
    func, build = AXES[name]
    assert_form(func, [CUBE], lambda bb, x: bb.emit(build(x)))


def test_axes_of_pieces() -> None:
    def build(bb: Any, x: Any) -> Any:
        pieces = bb.emit(op.split(x, 2, -1))
        return tuple(bb.emit(relax.TupleGetItem(pieces, i)) for i in range(2))

    assert_form(lambda x: x.split(2, -1), [CUBE], build)
    assert_form(lambda x: x.chunk(2, -1), [CUBE], build)


def test_places_along_axes() -> None:
    places = torch.tensor([2, 0])
    mod = from_exported_program(exported(lambda x: x.index_select(-1, places), torch.rand(CUBE)))
    assert "axis=-1" in mod.script()
    places = torch.zeros(CUBE, dtype=torch.int64)
    mod = from_exported_program(
        exported(lambda x: (x.gather(-1, places), x.scatter(-2, places, x)), torch.rand(CUBE))
    )
    assert "axis=-1" in mod.script()
    assert "axis=-2" in mod.script()


def test_slices_are_written_along_the_axis_as_given() -> None:
    def build(bb: Any, x: Any) -> Any:
        part = bb.emit(op.strided_slice(x, [2], [0], [4], [2]))
        return bb.emit(op.slice_scatter(x, part, 0, 4, 2, -1))

    def scattered(x: Any) -> Any:
        part = torch.ops.aten.slice.Tensor(x, 2, 0, 4, 2)
        return torch.slice_scatter(x, part, -1, 0, 4, 2)

    assert_form(scattered, [CUBE], build)


def test_axes_are_checked() -> None:
    from tvm.relax.frontend.torch.values import written_axes, written_axis

    assert written_axis(-2, 3) == -2
    assert written_axes([0, -1], 3) == [0, -1]
    assert written_axes(None, 3) is None
    with pytest.raises(tvm.TVMError, match=r"legal: -3 \.\.\. 2"):
        written_axis(3, 3)


def test_slices_of_everything_stay() -> None:
    def build(bb: Any, x: Any) -> Any:
        whole = bb.emit(op.strided_slice(x, [0], [0], [2**63 - 1], [1]))
        return bb.emit(op.expand_dims(whole, 1))

    def sliced(x: Any) -> Any:
        return torch.ops.aten.slice.Tensor(x, 0, 0, 2**63 - 1).unsqueeze(1)

    assert_form(sliced, [MATRIX], build)


def test_shrinking() -> None:
    def build(bb: Any, x: Any) -> Any:
        above = bb.emit(op.subtract(x, c(0.25)))
        held = bb.emit(op.astype(bb.emit(op.greater(x, c(0.25))), "float32"))
        first = bb.emit(op.multiply(above, held))
        below = bb.emit(op.add(x, c(0.25)))
        down = bb.emit(op.negative(c(0.25)))
        held = bb.emit(op.astype(bb.emit(op.less(x, down)), "float32"))
        return bb.emit(op.add(first, bb.emit(op.multiply(below, held))))

    assert_form(lambda x: F.softshrink(x, 0.25), [MATRIX], build)


def test_bounds_that_are_tensors() -> None:
    def build(bb: Any, x: Any, low: Any, high: Any) -> Any:
        x = bb.emit(op.maximum(x, bb.emit(op.broadcast_to(low, MATRIX))))
        x = bb.emit(op.minimum(x, bb.emit(op.broadcast_to(high, MATRIX))))
        return bb.emit(op.clip(x, float("-inf"), float("inf")))

    assert_form(lambda x, a, b: torch.clamp(x, min=a, max=b), [MATRIX, ROW, ROW], build)


def test_one_bound_is_a_tensor() -> None:
    def build(bb: Any, x: Any, low: Any) -> Any:
        x = bb.emit(op.maximum(x, bb.emit(op.broadcast_to(low, MATRIX))))
        return bb.emit(op.clip(x, float("-inf"), float("inf")))

    assert_form(lambda x, a: torch.clamp(x, min=a), [MATRIX, ROW], build)


@pytest.mark.parametrize("p", [1, 2, 3.5])
def test_norms_are_powers(p: float) -> None:
    def build(bb: Any, x: Any) -> Any:
        powers = bb.emit(op.power(bb.emit(op.abs(x)), c(float(p))))
        return bb.emit(op.power(bb.emit(op.sum(powers, [-1])), c(1 / p)))

    assert_form(lambda x: torch.linalg.vector_norm(x, p, -1), [MATRIX], build)


def test_products_of_batches_stand_before_what_is_added() -> None:
    def build(bb: Any, x: Any, a: Any, b: Any) -> Any:
        made = bb.emit(op.multiply(bb.emit(op.matmul(a, b)), c(2.0)))
        return bb.emit(op.add(made, bb.emit(op.multiply(x, c(0.5)))))

    assert_form(
        lambda x, a, b: torch.baddbmm(x, a, b, beta=0.5, alpha=2.0),
        [(2, 3, 5), (2, 3, 4), (2, 4, 5)],
        build,
    )
    nothing = lambda x, a, b: torch.baddbmm(x, a, b, beta=0, alpha=0)
    assert_form(
        nothing,
        [(2, 3, 5), (2, 3, 4), (2, 4, 5)],
        lambda bb, x, a, b: bb.emit(op.zeros([2, 3, 5], "float32")),
    )


def test_new_tensors() -> None:
    """Zeros are zeros; ranges are in float32, unless digits would be lost."""

    def made(x: Any) -> Any:
        halves, tenths = torch.arange(0, 1.5, 0.5), torch.arange(1, 1.3, 0.1)
        return x + torch.zeros(3), x + halves, tenths, x + torch.linspace(0, 1, 3)

    def build(bb: Any, x: Any) -> Any:
        exact = [tvm.tir.FloatImm("float64", v) for v in (1.3, 0.1)]
        halves = bb.emit(op.arange(0, 1.5, 0.5, "float32"))
        tenths = bb.emit(op.arange(1, *exact, "float32"))
        first = bb.emit(op.add(x, bb.emit(op.zeros([3], "float32"))))
        second = bb.emit(op.add(x, halves))
        spaced = bb.emit(op.arange(0, 1.25, 0.5, "float32"))
        return first, second, tenths, bb.emit(op.add(x, spaced))

    assert_form(made, [(3,)], build)


def test_empty_tensors_are_zeros() -> None:
    mod = from_exported_program(exported(lambda x: torch.empty((2, 3)) + x, torch.rand(2, 3)))
    assert 'R.zeros(R.shape([2, 3]), dtype="float32")' in mod.script()


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bits_of_truths(name: str) -> None:
    """The same operators as of numbers, which give truths of truths."""

    def build(bb: Any, x: Any, y: Any) -> Any:
        return bb.emit(getattr(op, name)(bb.emit(op.greater(x, c(0.0))), bb.emit(op.less(y, x))))

    assert_form(lambda x, y: getattr(torch, name)(x > 0, y < x), [MATRIX, MATRIX], build)


def test_truths_inverted() -> None:
    def build(bb: Any, x: Any) -> Any:
        return bb.emit(op.bitwise_not(bb.emit(op.greater(x, c(0.0)))))

    assert_form(lambda x: ~(x > 0), [MATRIX], build)


def test_dropout_does_nothing() -> None:
    def dropped(x: Any) -> Any:
        return torch.ops.aten.dropout_(x.clone(), 0.25, train=True)

    x = torch.rand(MATRIX)
    assert_same(
        Interpreter(from_exported_program(exported(dropped, x))).run("main", x.numpy()), (x,)
    )


def test_dropout_beside_writes_through_views() -> None:
    def written(x: Any) -> Any:
        y = x.clone()
        y[0].add_(1)
        return F.dropout(y, 0.5, True)

    x = torch.rand(3, 4)
    program = exported(written, x)
    before = len(program.graph.nodes)
    found = Interpreter(from_exported_program(program)).run("main", x.numpy())
    assert len(program.graph.nodes) == before
    wanted = x.clone()
    wanted[0] += 1
    assert_same(found, (wanted,))


def test_nothing_is_bound_that_is_not_read() -> None:
    """An index along the first axis needs no count from the front."""
    places = torch.tensor([2, 0])
    mod = from_exported_program(exported(lambda x: x[places], torch.rand(4, 5)))
    assert [op_name(b) for b in mod["main"].body.blocks[0].bindings[:-1]] == ["relax.index_tensor"]
    mod = from_exported_program(exported(lambda x: torch.hstack([x, x]), torch.rand(4, 5)))
    assert [op_name(b) for b in mod["main"].body.blocks[0].bindings[:-1]] == ["relax.concat"]


def op_name(binding: Any) -> str:
    return str(binding.value.op.name) if isinstance(binding.value, relax.Call) else "a variable"


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_number_read_from_a_tensor_has_no_axes(shape: tuple[int, ...]) -> None:
    def build(bb: Any, x: Any) -> Any:
        if not shape:
            return x
        zero = relax.const(0, "int64")
        return bb.emit(op.take(x, zero, 0) if len(shape) == 1 else op.reshape(x, []))

    x = torch.full(shape, 0.5)
    found = from_exported_program(exported(lambda x: x.item(), x))
    param = relax.Var("x0", relax.TensorStructInfo(shape, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [param]):
        with bb.dataflow():
            output = bb.emit_output(relax.Tuple([build(bb, param)]))
        bb.emit_func_output(output)
    tvm.ir.assert_structural_equal(found, bb.get())
    (number,) = Interpreter(found).run("main", x.numpy())
    assert number.shape == ()
    assert number == 0.5


# --- traced graphs ---


def assert_traced(func: Callable[..., Any], args: Parts, build: Callable[..., Any]) -> None:
    """The traced function becomes what `build` writes, and gives what torch gives."""
    info = [(tuple(arg.shape), str(arg.dtype).removeprefix("torch.")) for arg in args]
    found = from_fx(torch.fx.symbolic_trace(module_of(func, len(args))), info)
    params = [relax.Var("x", relax.TensorStructInfo(*one)) for one in info]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            output = bb.emit_output(build(bb, *params))
        bb.emit_func_output(output)
    tvm.ir.assert_structural_equal(found, bb.get())
    assert_same(Interpreter(found).run("main", *(arg.numpy() for arg in args)), func(*args))


CUBE_VALUES = torch.arange(24.0).reshape(CUBE) - 7.5
WHOLE = torch.tensor([-3, 0, 7], dtype=torch.int32)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "isfinite", "isinf", "isnan"])
def test_functions_of_whole_numbers(name: str) -> None:
    rule = getattr(op, name)
    assert_traced(getattr(torch, name), [WHOLE], lambda bb, x: bb.emit(rule(x)))


def test_quotients_of_whole_numbers_towards_zero() -> None:
    def build(bb: Any, x: Any, y: Any) -> Any:
        return bb.emit(op.trunc(bb.emit(op.divide(x, y))))

    def func(x: Any, y: Any) -> Any:
        return torch.div(x, y, rounding_mode="trunc")

    assert_traced(func, [WHOLE, torch.full((3,), 2, dtype=torch.int32)], build)


def test_deviations_over_all_values() -> None:
    def build(bb: Any, x: Any) -> Any:
        return bb.emit(op.std(x, [-1]))

    assert_traced(lambda x: torch.std(x, -1, correction=0), [CUBE_VALUES], build)


def test_widths_below_zero() -> None:
    def build(bb: Any, x: Any) -> Any:
        return bb.emit(op.nn.pad(x, [0, 0, 0, 0, -1, 2], "constant", 3.0))

    assert_traced(lambda x: F.pad(x, (-1, 2), value=3.0), [CUBE_VALUES], build)


@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_elements_where_a_mask_holds(shape: tuple[int, ...]) -> None:
    flat = len(shape) == 1
    mask = torch.tensor([False, True, True, False, True, False]).reshape(shape)

    def build(bb: Any, x: Any, mask: Any, source: Any) -> Any:
        row = mask if flat else bb.emit(op.reshape(mask, [6]))
        count = bb.emit(op.cumsum(row, 0, "int32"))
        number = bb.emit(op.subtract(count, relax.const(1, "int32")))
        values = source if flat else bb.emit(op.reshape(source, [8]))
        values = bb.emit(op.take(values, number, 0))
        values = values if flat else bb.emit(op.reshape(values, shape))
        return bb.emit(op.where(mask, values, x))

    source = torch.arange(8.0).reshape((8,) if flat else (2, 4))
    args = [torch.zeros(shape), mask, source]
    assert_traced(lambda x, m, s: x.masked_scatter(m, s), args, build)


@pytest.mark.parametrize(("x", "holds"), [(CUBE_VALUES, True), (WHOLE, False)])
def test_whether_numbers_are_floats(x: Any, holds: bool) -> None:
    assert_traced(torch.is_floating_point, [x], lambda bb, x: relax.const(holds, "bool"))


def test_bounds_of_slices_stay_as_they_were_written() -> None:
    def build(bb: Any, x: Any) -> Any:
        cut = bb.emit(op.strided_slice(x, [0, 1, 2], [1, -2, 0], [2, 3, 100], [1, 1, 2]))
        return bb.emit(op.reshape(cut, [1, 2, 2]))

    assert_traced(lambda x: x[1:, -2:, :100:2], [CUBE_VALUES], build)


def test_one_row_of_places_is_taken_before_slices() -> None:
    class Takes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.places = torch.tensor([2, 0])

        def forward(self, x: Any) -> Any:
            return x[0, self.places, None, 1:]

    found = from_fx(torch.fx.symbolic_trace(Takes()), [(CUBE, "float32")])
    x = relax.Var("x", relax.TensorStructInfo(CUBE, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            places = relax.const(Takes().places.numpy(), "int64")
            taken = bb.emit(op.take(x, places, 1))
            cut = bb.emit(op.strided_slice(taken, [0, 2], [0, 1], [1, 4], [1, 1]))
            output = bb.emit_output(bb.emit(op.reshape(cut, [2, 1, 3])))
        bb.emit_func_output(output)
    tvm.ir.assert_structural_equal(found, bb.get())
    assert_same(Interpreter(found).run("main", CUBE_VALUES.numpy()), Takes()(CUBE_VALUES))


def test_empty_parts_of_as_many_axes_stay() -> None:
    def build(bb: Any, x: Any, y: Any) -> Any:
        return bb.emit(op.concat((x, y), 0))

    assert_traced(lambda x, y: torch.cat((x, y)), [torch.zeros(0), torch.ones(2)], build)
