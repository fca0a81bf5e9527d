"""Torch's own operators for `benchmarks.imports`: the samples that torch tests them with.

Each operator of torch's table is the only call of a module, exported with every extent open that
torch can keep open, on the first samples of its table whose arguments differ in kind. Tensors are
the module's inputs, all else is part of it. Complex tensors go in and come out as pairs. Where a
sample's first open extent can be twice as long, the same program runs on that, too.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

import tvm
from benchmarks.imports import RIGHT, Case, Source, difference
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

SAMPLES = 5
DTYPES = {  # of the inputs, and the largest error by the largest element
    "float32": 1e-4, "int64": 1e-4, "bool": 1e-4, "uint8": 1e-4,
    "float16": 1e-2, "bfloat16": 5e-2, "complex64": 1e-4, "float64": 1e-9,
}  # fmt: skip
UNDEFINED = ("empty", "resize", "jiterator")  # their elements are what was in memory
DRAWN = ("dropout", "rrelu", "rand", "normal", "bernoulli", "multinomial", "uniform", "cauchy",
         "exponential", "geometric", "fractional_max", "lowrank")  # torch seeds its own samples
# twice as many rows of a matrix are no longer regular, and signs of eigenvectors are free
REGULAR = ("linalg.", "lu", "cholesky", "pinverse", "svd")


def cases(group: str) -> dict[str, Case]:
    """By data type, operator and variant."""
    assert group == "operators", group
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    found: dict[str, Case] = {}
    for dtype in DTYPES:
        for info in op_db:
            if getattr(torch, dtype) in info.dtypes:
                variant = f".{info.variant_test_name}" if info.variant_test_name else ""
                found.setdefault(f"{dtype} {info.name}{variant}", _case(info, dtype))
    for name in ("float32 addmm", "float32 nn.functional.softmin", "float32 cumsum"):
        list(found[name]())  # what is loaded at first use is there in all forks
    return found


def _case(info: Any, dtype: str) -> Case:
    def run() -> Iterator[tuple[str, float]]:
        warnings.simplefilter("ignore")
        failures: list[tuple[int, str, BaseException]] = []
        count = 0
        for label, sample in _samples(info, dtype):
            try:
                errors = list(_compared(info, sample))
            except Source as err:
                failures.append((0, label, err))
            except tvm.error.TVMError as err:
                failures.append((1, label, err))
            except Exception as err:
                failures.append((2, label, err))
            else:
                count += 1
                for size, error in errors:
                    yield f"{label} {size}", error * RIGHT / DTYPES[dtype]
        if not count and not failures:
            raise Source("torch has no samples of plain tensors")
        worst = max((kind for kind, _, _ in failures), default=0)
        if worst or not count:
            label, first = next((label, err) for kind, label, err in failures if kind == worst)
            kinds = Counter(kind for kind, _, _ in failures)
            text = (f"{label}: {count} right, {kinds[0]} not run by torch, {kinds[1]} refused, "
                    f"{kinds[2]} raw")  # fmt: skip
            first.args = (f"{text}\n{first}", *first.args[1:])
            raise first

    return run


def _samples(info: Any, dtype: str) -> Iterator[tuple[str, Any]]:
    """Samples that differ in ranks and in the kinds of their arguments."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    seen: set[Any] = set()
    made = info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=False)
    for index, sample in enumerate(made):
        leaves = tree_flatten((sample.input, sample.args, sample.kwargs))[0]
        if any(isinstance(x, torch.Tensor) and (not x.numel() or x.layout != torch.strided)
               for x in leaves):  # fmt: skip
            continue
        kind = tuple(("t", x.ndim) if isinstance(x, torch.Tensor) else (type(x), x.is_integer()
                     if isinstance(x, float) else x if isinstance(x, (str, bool)) else None)
                     for x in leaves) + tuple(sample.kwargs)  # fmt: skip
        if kind in seen:
            continue
        seen.add(kind)
        yield f"#{index}", sample
        if len(seen) == SAMPLES or index > 400:
            return


class _Call(torch.nn.Module):
    """An operator with its arguments, tensors among them left open."""

    def __init__(self, info: Any, sample: Any) -> None:
        super().__init__()
        self.op: Callable[..., Any] = info.get_op()
        leaves, self.spec = tree_flatten((sample.input, sample.args, sample.kwargs))
        self.rest = [None if isinstance(x, torch.Tensor) else x for x in leaves]
        self.complex = [isinstance(x, torch.Tensor) and x.is_complex() for x in leaves]
        self.places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
        self.given = tuple(_real(leaves[i]) for i in self.places)

    def forward(self, *tensors: Any) -> Any:
        leaves = list(self.rest)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = torch.view_as_complex(tensor) if self.complex[place] else tensor
        first, args, kwargs = tree_unflatten(leaves, self.spec)
        found = self.op(first, *args, **kwargs)
        if isinstance(found, torch.Tensor) or not isinstance(found, tuple):
            return tree_map(_real, found)
        return tuple(_real(part) for part in found)  # named tuples are no results of programs


def _real(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    return torch.view_as_real(value.resolve_conj()).contiguous() if value.is_complex() else value


def _compared(info: Any, sample: Any) -> Iterator[tuple[str, float]]:
    call = _Call(info, sample)
    given = call.given
    try:
        wanted, again = _seeded(call, given, 0), _seeded(call, given, 1)
        if not wanted:
            raise Source("no tensor among the results")
        program = _program(call, given)
    except Source:
        raise
    except Exception as err:  # whatever torch does not run or export
        raise Source(f"{type(err).__name__}: {err}") from err
    machine = relax.VirtualMachine(tvm.compile(from_exported_program(program), "llvm"), tvm.cpu())
    loose = any(word in info.name for word in UNDEFINED + DRAWN) or difference(wanted, again) > 0
    loose = loose or bool(sample.kwargs.get("dropout_p"))
    longer = None if info.name.startswith(REGULAR) else _twice(program, given)
    for size, tensors in (("", given), ("twice", longer)):
        if tensors is None:
            continue
        want = wanted if not size else _seeded(call, tensors, 0)
        kept = [t for t, used in zip(tensors, _inputs(program)) if used]
        got = _tensors(machine["main"](*(tvm.runtime.tensor(_numpy(t)) for t in kept)))
        if loose:
            if [(w.shape, w.dtype) for w in want] != [(g.shape, g.dtype) for g in got]:
                yield size, float("inf")
            else:
                yield size, 0.0
        else:
            yield size, difference(want, got)


def _inputs(program: Any) -> list[bool]:
    return [spec.kind.name == "USER_INPUT" for spec in program.graph_signature.input_specs
            if spec.kind.name == "USER_INPUT"]  # fmt: skip


def _program(call: Any, given: Sequence[Any]) -> Any:
    """Exported with all extents open, or if torch cannot do that with fixed ones."""
    auto = torch.export.Dim.AUTO
    dims = tuple({axis: auto for axis, size in enumerate(t.shape) if size > 1} for t in given)
    try:
        return torch.export.export(call, tuple(given), dynamic_shapes=(dims,))
    except Exception:  # of many kinds
        return torch.export.export(call, tuple(given))


def _twice(program: Any, given: Sequence[Any]) -> list[Any] | None:
    """The inputs, those longer whose first extent is the first open one, if torch takes that."""
    held = [n.meta["val"] for n in program.graph.nodes if n.op == "placeholder"][-len(given):]
    names = [str(h.shape[0]) for h in held if h.ndim and not isinstance(h.shape[0], int)]
    if not names:
        return None
    longer = []
    for tensor, meta in zip(given, held):
        for axis, size in enumerate(meta.shape):
            if str(size) == names[0]:
                other = tensor * 0.75 if tensor.is_floating_point() else tensor  # no ties
                tensor = torch.cat([tensor, other], axis)
        longer.append(tensor)
    try:
        program.module()(*longer)
    except Exception:  # guards of many kinds
        return None
    return longer


def _seeded(call: Any, given: Sequence[Any], seed: int) -> list[Any]:
    torch.manual_seed(seed)
    with torch.no_grad():
        return _tensors(call(*(t.clone() for t in given)))


def _numpy(tensor: Any) -> Any:
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.detach().resolve_neg().contiguous().numpy()


def _tensors(value: Any) -> list[Any]:
    """The tensors of a result as arrays, in order."""
    if isinstance(value, torch.Tensor):
        return [_numpy(value)]
    if hasattr(value, "numpy"):
        return [value.numpy()]
    if value is None or isinstance(value, (bool, int, float, str)):
        return []
    return [one for part in value for one in _tensors(part)]
