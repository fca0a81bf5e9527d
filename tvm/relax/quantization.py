"""Post-training quantisation: which layers of a graph compute with integers, and what that costs.

    made = quantize(mod, data, bound=0.01)
    print(made.report)
    tvm.compile(made.mod, "llvm")

With `data`, inputs as the network will see them, layers compute with integers of 8 bits: a scale
for what comes in, one for each filter. Without, the weights of products alone are stored in fewer
bits. The report tells the error that each layer brings by itself; with a bound, layers that bring
most keep float32 until the results stay within it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvm.error import ArgumentValueError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax import op
from tvm.relax import transform as t
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Function, SeqExpr, Tuple
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.batch_norm_as_scale import BatchNormAsScale
from tvm.relax.transform.quantize import Layer, Quantize, Range, layers_of, main_of
from tvm.relax.transform.rebuild import rewrite_calls
from tvm.relax.vm_build import build
from tvm.runtime import cpu, tensor
from tvm.runtime.vm import VirtualMachine
from tvm.target.target import Target
from tvm.topi.nn.few_bits import GROUP

Array = NDArray[Any]
Inputs = Sequence[Array]


class LayerError(NamedTuple):
    """A layer, the error of its result when it alone is quantised, and what was decided."""

    number: int
    kind: str
    weights: tuple[int, ...]
    error: float
    form: str

    def __str__(self) -> str:
        sizes = "x".join(map(str, self.weights))
        return f"{self.number:4} {self.kind:7} {sizes:16} {self.error:9.2e}  {self.form}"


@dataclass(frozen=True)
class Report:
    """Errors are root mean squares over those of the results in float32.

    `error` is that of the results of the quantised graph; None where there were no inputs.
    """

    layers: tuple[LayerError, ...]
    error: float | None

    def __str__(self) -> str:
        head = "   # layer   weights              error  form"
        total = [] if self.error is None else [f"results: {self.error:.2e}"]
        return "\n".join([head, *map(str, self.layers), *total])


@dataclass(frozen=True)
class Quantized:
    """The quantised module, and what is known of its errors."""

    mod: IRModule
    report: Report


def quantize(
    mod: IRModule, data: Iterable[Any] | None = None, *, weights: str = "int8", group: int = GROUP,
    bound: float | None = None, keep: Collection[int] = (), target: str | Target = "llvm",
) -> Quantized:  # fmt: skip
    """The module with quantised layers.

    Parameters
    ----------
    data : inputs of `main`, each an array, a sequence of arrays or a dict by names of parameters.
    weights, group : see `relax.transform.Quantize`.
    bound : the largest error of the results (see `Report`) that is accepted; it takes `data`.
    keep : numbers of layers that stay in float32 in any case.
    target : what the graph runs on while errors are measured.
    """
    mod = _prepared(mod)
    _, func = main_of(mod)
    layers = layers_of(func)
    samples = None if data is None else [_inputs(func, sample) for sample in data]
    if samples is not None and not samples:
        raise ArgumentValueError(message("quantize: data", found="nothing", legal="some inputs"))
    if bound is not None and (samples is None or not bound > 0):
        found = "no data to measure errors with" if samples is None else f"{bound}"
        raise ArgumentValueError(
            message("quantize: bound", found=found, legal="a positive number, and data")
        )
    ranges = {} if samples is None else _ranges(mod, layers, samples, target)

    def made(kept: Collection[int]) -> IRModule:
        used = {number: r for number, r in ranges.items() if number not in kept}
        return Quantize(weights, group, ranges=used, keep=kept)(mod)

    step = Quantize(weights, group, ranges=ranges, keep=keep)
    if samples is None:
        return Quantized(made(keep), Report(_listed(layers, step, _of_weights(layers, step)), None))
    errors = _of_layers(mod, layers, step, samples, target)
    wanted = _run(mod, samples, target)
    kept, error = _choose(
        sorted((layer.number for layer in layers if layer.number not in keep),
               key=lambda number: -errors[number]),
        lambda more: _error(_run(made({*keep, *more}), samples, target), wanted), bound,
    )  # fmt: skip
    final = Quantize(weights, group, ranges=ranges, keep={*keep, *kept})
    return Quantized(made({*keep, *kept}), Report(_listed(layers, final, errors), error))


def _prepared(mod: IRModule) -> IRModule:
    """Layers as they are compiled: batch norms folded into weights, these constants."""
    for step in (t.FoldBatchnormToConv2D(keep_training=True), BatchNormAsScale(), t.FoldConstant()):
        mod = step(mod)
    return mod


def _inputs(func: Function, sample: Any) -> list[Array]:
    if isinstance(sample, Mapping):
        names = [param.name_hint for param in func.params]
        if set(sample) != set(names):
            raise ArgumentValueError(message(
                "quantize: inputs by name", found=", ".join(map(str, sample)),
                legal=", ".join(names),
            ))  # fmt: skip
        return [np.asarray(sample[name]) for name in names]
    given = list(sample) if isinstance(sample, (list, tuple)) else [sample]
    if len(given) != len(func.params):
        raise ArgumentValueError(message(
            "quantize: inputs", found=f"{len(given)} arrays",
            legal=f"{len(func.params)}, one for each parameter of main",
        ))  # fmt: skip
    return [np.asarray(array) for array in given]


def _choose(
    worst_first: Sequence[int], error_of: Callable[[Sequence[int]], float], bound: float | None
) -> tuple[Sequence[int], float]:
    """The fewest layers, those with the largest errors, that have to stay in float32."""
    error = error_of([])
    if bound is None or error <= bound:
        return [], error
    low, high = 0, len(worst_first)  # none is too few, all are enough
    best = 0.0
    while high - low > 1:
        middle = (low + high) // 2
        error = error_of(worst_first[:middle])
        if error <= bound:
            high, best = middle, error
        else:
            low = middle
    return worst_first[:high], best


def _listed(
    layers: Sequence[Layer], step: Quantize, errors: Mapping[int, float]
) -> tuple[LayerError, ...]:
    return tuple(
        LayerError(x.number, x.kind, x.weights.shape, errors[x.number], step.form_of(x))
        for x in layers
    )  # fmt: skip


def _of_weights(layers: Sequence[Layer], step: Quantize) -> dict[int, float]:
    """Without inputs: the errors of the weights themselves."""
    return {
        layer.number: _error([[step.rounded(layer)]], [[layer.weights]]) for layer in layers
    }


# --- what is computed beside the results ---

Watch = Callable[[BlockBuilder, Layer], Sequence[RelaxExpr]]


def _watched(mod: IRModule, watch: Watch) -> IRModule:
    """The module with more results: what `watch` makes for each layer, in order."""
    var, func = main_of(t.ToNonDataflow()(mod))
    numbers = {layer.call: layer for layer in layers_of(func)}
    more: list[RelaxExpr] = []
    bb = BlockBuilder(mod)

    def rule(bb: BlockBuilder, call: Call) -> RelaxExpr:
        layer = numbers.get(call)
        if layer is not None:
            more.extend([bb.emit(expr) for expr in watch(bb, layer)])
        return call

    new = rewrite_calls(func, dict.fromkeys(("relax.nn.conv2d", "relax.matmul"), rule), bb)
    result = bb.normalize(Tuple([new.body.body, *more]))
    body = SeqExpr(new.body.blocks, result)
    main = Function(new.params, body, result.struct_info, True, new.attrs)
    made = bb.get()
    return t.ConvertToDataflow()(made.with_functions({**made.functions, var: main}))


def _run(mod: IRModule, samples: Sequence[Inputs], target: str | Target) -> list[list[Array]]:
    """The results of each sample, as arrays in order."""
    vm = VirtualMachine(build(mod, target), cpu())
    return [_arrays(vm["main"](*map(tensor, sample))) for sample in samples]


def _arrays(value: Any) -> list[Array]:
    if hasattr(value, "numpy"):
        return [value.numpy()]
    return [array for part in value for array in _arrays(part)]


def _ranges(
    mod: IRModule, layers: Sequence[Layer], samples: Sequence[Inputs], target: str | Target
) -> dict[int, Range]:
    """The least and the largest input of each layer."""
    seen = _watched(mod, lambda bb, x: [op.min(x.call.args[0]), op.max(x.call.args[0])])
    count = 2 * len(layers)
    values = np.array([[float(v) for v in run[-count:]] for run in _run(seen, samples, target)])
    return {
        layer.number: Range(float(low), float(high))
        for layer, low, high in zip(
            layers, values[:, 0::2].min(axis=0), values[:, 1::2].max(axis=0)
        )
    }  # fmt: skip


def _of_layers(
    mod: IRModule, layers: Sequence[Layer], step: Quantize, samples: Sequence[Inputs],
    target: str | Target,
) -> dict[int, float]:  # fmt: skip
    """The error of each layer's result on the inputs that it has in float32."""

    def watch(bb: BlockBuilder, layer: Layer) -> Sequence[RelaxExpr]:
        wanted = bb.emit(layer.call)
        info = wanted.struct_info
        assert isinstance(info, TensorStructInfo), "layers give tensors"
        difference = bb.emit(op.subtract(step.quantised(bb, layer), wanted))
        squares = [bb.emit(op.multiply(x, x)) for x in (difference, wanted)]
        return [op.sum(square) for square in squares]

    count = 2 * len(layers)
    runs = _run(_watched(mod, watch), samples, target)
    sums = np.array([[float(v) for v in run[-count:]] for run in runs]).sum(axis=0)
    return {
        layer.number: float(np.sqrt(wrong / whole)) if whole else 0.0
        for layer, wrong, whole in zip(layers, sums[0::2], sums[1::2])
    }


def _error(found: Sequence[Sequence[Array]], wanted: Sequence[Sequence[Array]]) -> float:
    """The root mean square of all differences, over that of what is wanted."""
    wrong = whole = 0.0
    for a, b in ((a, b) for one, other in zip(found, wanted) for a, b in zip(one, other)):
        wide = b.astype("float64")
        wrong += float(((a - wide) ** 2).sum())
        whole += float((wide**2).sum())
    return float(np.sqrt(wrong / whole)) if whole else 0.0
