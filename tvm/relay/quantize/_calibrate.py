"""Scales for the marks: one for all, or from what inputs of a data set give.

The greatest magnitude that is kept, over two to the number of bits, is the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relay.expr import Call, Constant, Tuple, const
from tvm.relay.function import Function
from tvm.relay.rewrite import bind
from tvm.relay.traverse import post_order, transform

from ._annotate import simulated_quantize
from .config import QAnnotateKind, current_qconfig
from .kl_divergence import _find_scale_by_kl

Scale = Callable[[Call], float]


def _marks(mod: IRModule) -> list[Call]:
    main: Any = mod["main"]
    return [
        e for e in post_order(main) if isinstance(e, Call) and e.op is simulated_quantize.op
    ]


def collect_stats(
    mod: IRModule, dataset: Iterable[Mapping[str, Any]], chunk_by: int = -1
) -> Iterator[list[Any]]:
    """What stands before each mark of data, for all inputs; `chunk_by` marks at a time."""
    from tvm.relay.build_module import create_executor
    from tvm.relay.transform import InferType

    main: Any = mod["main"]

    def rule(old: Any, new: Any) -> Any:
        marked = isinstance(new, Call) and new.op is simulated_quantize.op
        return new.args[0] if marked else new

    marks = [m for m in _marks(mod) if m.attrs.kind != QAnnotateKind.WEIGHT]  # type: ignore[union-attr]
    plain = transform(Function(main.params, Tuple([m.args[0] for m in marks])), rule)
    assert isinstance(plain, Function), "a function stays one"
    inputs = list(dataset)
    assert isinstance(plain.body, Tuple), "made above"
    values = plain.body.fields
    step = len(values) if chunk_by == -1 else chunk_by
    for at in range(0, len(values), max(step, 1)):
        part = Function(
            [p for p in plain.params if p.name_hint in inputs[0]],
            Tuple(values[at : at + step]),
        )
        run = create_executor("graph", InferType()(IRModule.from_expr(part))).evaluate()
        found = [[np.ravel(v.numpy()) for v in run(**batch)] for batch in inputs]
        yield [np.concatenate(column) for column in zip(*found)]


def _by_stats(mod: IRModule, dataset: Any, scale: Callable[[Any], float]) -> Scale:
    """A scale for each mark of data, from what stands before it."""
    assert dataset is not None, "calibrating by values needs a data set"
    columns = (c for part in collect_stats(mod, dataset, current_qconfig().calibrate_chunk_by)
               for c in part)  # fmt: skip
    scales = iter([scale(column) for column in columns])
    return lambda call: next(scales)


def _percentile(column: Any) -> float:
    """The magnitude below which all values but one in 100,000 are; one of them, no mean."""
    place = int(column.size * 0.99999)
    return float(np.partition(np.abs(column), place)[place])


def _largest(call: Call) -> float:
    weight = call.args[0]
    assert isinstance(weight, Constant), "weights are constants"
    return float(np.amax(np.abs(weight.data.numpy())))


def _power2_scale(call: Call) -> float:
    largest = _largest(call)
    return float(2 ** np.ceil(np.log2(largest))) if largest > 0 else 0.0


_WEIGHTS: dict[str, Scale] = {"max": _largest, "power2": _power2_scale}


def _data_scale(mod: IRModule, dataset: Any) -> Scale:
    mode = current_qconfig().calibrate_mode
    if mode == "global_scale":
        return lambda call: float(current_qconfig().global_scale)
    if mode == "kl_divergence":
        return _by_stats(mod, dataset, _find_scale_by_kl)
    if mode == "percentile":
        return _by_stats(mod, dataset, _percentile)
    raise ValueError(
        f"Unknown calibrate mode {mode}; legal: global_scale, kl_divergence, percentile"
    )


def calibrate(dataset: Any = None) -> Callable[[IRModule, PassContext], IRModule]:
    """A pass function that gives every mark its scale and bounds."""

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        cfg = current_qconfig()
        of_data = _data_scale(mod, dataset)
        if cfg.weight_scale not in _WEIGHTS:
            raise ValueError(f"Unknown weight scale mode {cfg.weight_scale}; legal: max, power2")
        of_weights = _WEIGHTS[cfg.weight_scale]
        given: dict[Any, Any] = {}
        for call in _marks(mod):
            attrs: Any = call.attrs
            steps = 2 ** (cfg.get_nbit_by_kind(attrs.kind) - int(attrs.sign))
            weight = attrs.kind == QAnnotateKind.WEIGHT
            scale = (of_weights if weight else of_data)(call) or 1.0  # zeros: any step does
            values = (scale / steps, -(steps - 1), steps - 1)
            given.update(
                {v: const(float(x), "float32") for v, x in zip(call.args[1:], values)}
            )
        main = bind(mod["main"], given)
        made = mod.clone()
        made["main"] = main
        return made

    return run
