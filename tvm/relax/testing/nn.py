"""Small models for tests: modules whose `forward` emits into the current BlockBuilder.

    bb = relax.BlockBuilder()
    with bb.function("main"):
        model = nn.Sequential(nn.Linear(784, 10), nn.ReLU())
        data = nn.Placeholder((1, 784), name="data")
        bb.emit_func_output(model(data), [data, *model.parameters()])

Placeholders and parameters are plain variables; a module's parameters are the variables it holds.
For real models there is `tvm.relax.frontend.nn`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tvm import runtime, tir
from tvm.error import message
from tvm.ir.module import IRModule
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Expr, Function, Var
from tvm.relax.frontend.nn.subroutine import SubroutineMixin
from tvm.relax.struct_info import TensorStructInfo


def _builder() -> BlockBuilder:
    builder = BlockBuilder.current()
    if builder is None:
        raise RuntimeError(
            message("nn: a value to emit", found="no open function",
                    legal="calls within `with bb.function(...):`")
        )  # fmt: skip
    return builder


# --- emitting ---


def emit(expr: Expr, name_hint: str = "") -> Var:
    """Bind an expression in the function under construction."""
    return _builder().emit(expr, name_hint)


def emit_te(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
    """Bind a call of what `func` computes in tensor expressions."""
    return _builder().emit_te(func, *args, **kwargs)


def checkpoint(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`func(*args, **kwargs)`, whose inner values a gradient computes again."""

    def begin(value: Any) -> Any:
        return op.grad.start_checkpoint(value) if isinstance(value, Expr) else value

    def end(value: Any) -> Any:
        return op.grad.end_checkpoint(value) if isinstance(value, Expr) else value

    return _between_marks(begin, end, func, args, kwargs)


def emit_checkpoint(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """As `checkpoint`, with each mark, and what it marks, bound to a variable.

    Only variables among the arguments are marked: `x` as `x_scp`, a result `y` as `y_ecp`.
    """

    def begin(value: Any) -> Any:
        if not isinstance(value, Var):
            return value
        return emit(op.grad.start_checkpoint(value), f"{value.name_hint}_scp")

    def end(value: Any) -> Any:
        if not isinstance(value, Expr):
            return value
        var = _as_var(value)
        return emit(op.grad.end_checkpoint(var), f"{var.name_hint}_ecp")

    return _between_marks(begin, end, func, args, kwargs)


def _as_var(value: Any) -> Any:
    """An expression bound to a variable; anything else as it is."""
    return emit(value) if isinstance(value, Expr) and not isinstance(value, Var) else value


def emit_checkpoint_sequential(
    functions: list[Callable[..., Any]],
    segments: int | list[int],
    input: Var,
    checkpoint_last: bool = False,
) -> Any:
    """Functions one after the other, in segments that are checkpoints each.

    `segments` is their number, or where each begins. The last one is none, unless asked for.
    """
    count = len(functions)
    if isinstance(segments, int):
        begins = list(range(0, count, max(count // segments, 1)))
    else:
        begins = list(segments)
    if not begins or begins[-1] != count:
        begins.append(count)
    value: Any = input
    for begin, end in zip(begins, begins[1:]):  # noqa: RUF007 - pairs by name
        run = _chain(functions[begin:end])
        is_last = end == count and not checkpoint_last
        value = run(value) if is_last else emit_checkpoint(run, value)
    return value


def _chain(functions: Sequence[Callable[..., Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for func in functions:
            value = _as_var(func(value))
        return value

    return run


def _between_marks(
    begin: Callable[[Any], Any],
    end: Callable[[Any], Any],
    func: Callable[..., Any],
    args: Any,
    kwargs: dict[str, Any],
) -> Any:
    marked = [begin(value) for value in args]
    result = func(*marked, **{name: begin(value) for name, value in kwargs.items()})
    return [end(part) for part in result] if isinstance(result, (list, tuple)) else end(result)


# --- variables ---


def _variable(what: str, shape: Any, dtype: str, name: str) -> Var:
    if not isinstance(shape, (list, tuple)):
        raise TypeError(
            f"the shape of {what} is expected to be a list or a tuple, found "
            f"{type(shape).__name__}"
        )
    builder = BlockBuilder.current()
    unique = name if builder is None else builder.get_unique_name(name)
    return Var(unique, TensorStructInfo(shape, dtype))


def Placeholder(
    shape: list[Any] | tuple[Any, ...], dtype: str = "float32", name: str = "data"
) -> Var:
    """A variable for an input."""
    return _variable("Placeholder", shape, dtype, name)


def Parameter(
    shape: list[Any] | tuple[Any, ...], dtype: str = "float32", name: str = "param"
) -> Var:
    """A variable for a weight; a module that holds it counts it among its parameters."""
    return _variable("Parameter", shape, dtype, name)


# --- modules ---


class Module(SubroutineMixin):
    """Base of models: parameters are attributes, `forward` computes.

    With `define_subroutine = True` each call becomes a call of a private function.
    """

    def parameters(self) -> list[Var]:
        """The variables that this module and those within it hold."""
        return [slot._expr for _, slot in self.named_parameters()]

    def named_parameters(self) -> Iterator[tuple[str, _Slot]]:
        """Where each parameter stands, by its name."""
        for slot in _slots(vars(self)):
            yield slot._expr.name_hint, slot

    def forward(self, input: Expr) -> Any:
        """What the module computes of its input."""
        raise TypeError(f"{type(self).__name__} does not say what it computes: define forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)


class _Slot:
    """A slot that holds a parameter; a subroutine puts its own variable there for a while."""

    def __init__(self, holder: Any, key: Any) -> None:
        self._holder = holder
        self._key = key

    @property
    def _expr(self) -> Var:
        found: Var = self._holder[self._key]
        return found

    @_expr.setter
    def _expr(self, var: Var) -> None:
        self._holder[self._key] = var


def _slots(holder: Any) -> Iterator[_Slot]:
    items = holder.items() if isinstance(holder, dict) else enumerate(holder)
    for key, value in items:
        if isinstance(value, Var):
            yield _Slot(holder, key)
        elif isinstance(value, Module):
            yield from _slots(vars(value))
        elif isinstance(value, (dict, list, tuple)):
            yield from _slots(value)


def init_params(mod: IRModule) -> list[runtime.Tensor]:
    """Zeros for each parameter of `main` that is no input; inputs are called `data...`."""
    func = mod["main"]
    assert isinstance(func, Function), "main is a function of Relax"
    return [_zeros(var) for var in func.params if not var.name_hint.startswith("data")]


def _zeros(var: Var) -> runtime.Tensor:
    info = var.struct_info
    values = info.values if isinstance(info, TensorStructInfo) else None
    if values is None or not all(isinstance(extent, tir.IntImm) for extent in values):
        raise TypeError(
            message(f"init_params: the parameter {var.name_hint!r}", found=str(info),
                    legal="a tensor whose extents are numbers")
        )  # fmt: skip
    shape = [extent.value for extent in values if isinstance(extent, tir.IntImm)]
    return runtime.tensor(np.zeros(shape, "float32"))


class Sequential(Module):
    """Modules one after the other."""

    def __init__(self, *modules: Module) -> None:
        self.modules = modules

    def forward(self, input: Expr) -> Any:
        """What the last module makes of what those before it made."""
        return _chain(self.modules)(input)


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, input: Expr) -> Var:
        """(...) -> (...)"""
        return emit(op.nn.relu(input))


class LogSoftmax(Module):
    """Logarithms of probabilities along the last axis."""

    def forward(self, input: Expr) -> Var:
        """(...) -> (...)"""
        return emit(op.nn.log_softmax(input))


class Linear(Module):
    """x @ weight + bias."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter((in_features, out_features), name="linear_weight")
        self.bias = Parameter((out_features,), name="linear_bias") if bias else None

    def forward(self, input: Expr) -> Var:
        """(n, in) -> (n, out)"""
        product = emit(op.matmul(input, self.weight))
        return product if self.bias is None else emit(op.add(product, self.bias))


__all__ = [
    "Linear", "LogSoftmax", "Module", "Parameter", "Placeholder", "ReLU", "Sequential",
    "checkpoint", "emit", "emit_checkpoint", "emit_checkpoint_sequential", "emit_te", "init_params",
]  # fmt: skip
