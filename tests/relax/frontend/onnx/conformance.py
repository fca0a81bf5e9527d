"""The cases of ONNX's own backend tests, run through `from_onnx`.

`python -m tests.relax.frontend.onnx.conformance` writes docs/onnx-cases.md. A case is *passed*
(the model as it stands), *passed frozen* (with the inputs that importing must know made
constants), *refused* (by an error of ours that gives a reason), or *wrong* (other numbers, or an
error that is none of ours).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import numpy_helper

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.result_names import result_names
from tvm.runtime import strings

Array = NDArray[Any]
PAGE = Path(__file__).resolve().parents[4] / "docs" / "onnx-cases.md"
PASSED, FROZEN, REFUSED, WRONG = "passed", "passed frozen", "refused", "wrong"


@dataclass(frozen=True)
class Case:
    """A model, and what its inputs give."""

    name: str
    model: onnx.ModelProto
    data: list[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float


@dataclass(frozen=True)
class Outcome:
    """What became of a case, and why if it did not pass."""

    status: str
    reason: str = ""


def node_cases() -> list[Case]:
    """One case or more an operator, as the package makes them."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    cases = [
        Case(c.name, c.model, [(_read(a), _read(b)) for a, b in c.data_sets], c.rtol, c.atol)
        for c in found
    ]
    return sorted(cases, key=lambda case: case.name)


def _read(values: Any) -> list[Any]:
    """Tensors of types that numpy lacks come as protos."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, onnx.TensorProto):
            value = numpy_helper.to_array(value)
        found.append(np.asarray(value) if isinstance(value, np.generic) else value)
    return found


def stored_cases() -> Iterator[Case]:
    """Small models that come as files: exported by PyTorch, and made by hand."""
    root = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    for kind in ("simple", "pytorch-operator", "pytorch-converted"):
        for name in sorted(os.listdir(os.path.join(root, kind))):
            folder = os.path.join(root, kind, name)
            path = os.path.join(folder, "model.onnx")
            if os.path.exists(path):
                model = onnx.load(path)
                sets = sorted(d for d in os.listdir(folder) if d.startswith("test_data_set"))
                data = [_data_set(os.path.join(folder, d), model) for d in sets]
                yield Case(name, model, data, 1e-3, 1e-7)


def _data_set(folder: str, model: onnx.ModelProto) -> tuple[list[Any], list[Any]]:
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    return (
        [_stored(folder, f"input_{i}.pb", value) for i, value in enumerate(inputs)],
        [_stored(folder, f"output_{i}.pb", value) for i, value in enumerate(model.graph.output)],
    )


def _stored(folder: str, name: str, value: onnx.ValueInfoProto) -> Any:
    with open(os.path.join(folder, name), "rb") as file:
        content = file.read()
    kind = value.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def run_case(case: Case) -> Outcome:
    """Import the model as it is; if values are missing that only data gives, freeze those."""
    first = _run(case, frozen=False)
    if first.status != REFUSED:
        return first
    second = _run(case, frozen=True)
    if second.status == PASSED:
        return Outcome(FROZEN, first.reason)
    return second


def _run(case: Case, *, frozen: bool) -> Outcome:
    for inputs, wanted in case.data:
        model, given = (_frozen(case.model, inputs) if frozen else (case.model, inputs))
        try:
            mod = from_onnx(model)
        except TVMError as err:
            return Outcome(REFUSED, str(err))
        except Exception as err:  # anything else is a fault of ours
            return Outcome(WRONG, f"import: {type(err).__name__}: {err}")
        try:
            got = _compiled(mod, given)
        except Exception as err:
            return Outcome(WRONG, f"run: {type(err).__name__}: {err}")
        if _is_random(model):
            wanted = [np.broadcast_to(have, want.shape) for have, want in zip(got, wanted)]
        difference = _difference(case, got, wanted)
        if difference and not _is_as_onnx_runtime(case, model, given, got):
            return Outcome(WRONG, difference)
    return Outcome(PASSED)


def _is_random(model: onnx.ModelProto) -> bool:
    """Whether values are drawn as the model runs; then shapes and types are compared."""
    return any(
        node.op_type.startswith(("Random", "Bernoulli", "Multinomial"))
        or (node.op_type == "Dropout" and len(node.input) > 2)
        for node in model.graph.node
    )


def _is_as_onnx_runtime(
    case: Case, model: onnx.ModelProto, inputs: list[Any], got: list[Any]
) -> bool:
    """Whether ONNX Runtime reads the definition as we do, where it and the case differ."""
    weights = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in weights]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        wanted = session.run(None, dict(zip(names, inputs)))
    except Exception:  # of many kinds, for what it does not have
        return False
    return not _difference(case, got, wanted)


def _frozen(model: onnx.ModelProto, inputs: list[Any]) -> tuple[onnx.ModelProto, list[Any]]:
    """The model with its inputs of integers, and its small ones, made initializers."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    weights = {tensor.name for tensor in copy.graph.initializer}
    values = [value for value in copy.graph.input if value.name not in weights]
    kept = []
    for place, (value, array) in enumerate(zip(values, inputs)):
        plain = isinstance(array, np.ndarray) and array.dtype.kind in "iufb"
        if plain and (place > 0 or len(values) == 1 or array.dtype.kind == "i"):
            copy.graph.initializer.append(numpy_helper.from_array(array, value.name))
            copy.graph.input.remove(value)
        else:
            kept.append(array)
    return copy, kept


def _compiled(mod: tvm.IRModule, inputs: list[Any]) -> list[Any]:
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    result = vm["main"](*(_argument(value) for value in inputs))
    count = len(result_names(mod, "main"))
    plain = _plain(result)
    return [plain] if count == 1 else plain


def _argument(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_argument(item) for item in value]
    if value is None:
        return None
    array = np.asarray(value)
    return strings.encode(array) if array.dtype.kind in "OSU" else tvm.runtime.tensor(array)


def _plain(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else [_plain(item) for item in value]


def _difference(case: Case, got: list[Any], wanted: list[Any]) -> str:
    if len(got) != len(wanted):
        return f"{len(got)} outputs instead of {len(wanted)}"
    for number, (have, want) in enumerate(zip(got, wanted)):
        if isinstance(want, list):
            inner = _difference(case, have, want)
            if inner:
                return f"in sequence {number}: {inner}"
            continue
        want = np.asarray(want)
        if want.dtype.kind in "OSU":
            have, want = strings.decode(have), want.astype(object)
        if have.shape != want.shape or have.dtype != want.dtype:
            return f"output {number}: {have.dtype}{have.shape}, not {want.dtype}{want.shape}"
        try:
            _check_close(case, have, want)
        except AssertionError as err:
            return f"output {number}: {' '.join(str(err).split())[:300]}"
    return ""


def _check_close(case: Case, have: Array, want: Array) -> None:
    if "float" not in want.dtype.name:
        np.testing.assert_array_equal(have, want)
        return
    wide = (have.astype(np.float64), want.astype(np.float64))
    # 16 bits and fewer are rounded after each operator, in an order that nothing fixes
    unit = 0.0
    if want.dtype.itemsize < 4:
        unit = 4 * float(ml_dtypes.finfo(want.dtype).eps)
    atol = max(case.atol, 1e-6, unit / 4)
    np.testing.assert_allclose(*wide, rtol=max(case.rtol, unit), atol=atol)


# --- the page ---

_HEAD = """# ONNX's own cases

Written by `python -m tests.relax.frontend.onnx.conformance`. The onnx package brings cases for each
operator, with inputs and outputs, and small models. Each is imported, compiled and compared.

*Passed* is the model as it stands. *With constants* are cases in which axes, shapes or the like
are inputs of the model, which importing must know: they pass with these inputs made constants.
*Refused* are cases with an error that gives the reason. None may be wrong.
"""


def page(outcomes: Mapping[str, Outcome], cases: list[Case]) -> str:
    """The text of docs/onnx-cases.md."""
    total = Counter(outcome.status for outcome in outcomes.values())
    rows: dict[str, Counter[str]] = {}
    reasons: dict[str, Counter[str]] = {}
    for case in cases:
        outcome, group = outcomes[case.name], group_of(case)
        rows.setdefault(group, Counter())[outcome.status] += 1
        if outcome.status == REFUSED:
            reasons.setdefault(_reason(outcome), Counter())[group] += 1
    lines = [
        f"{len(outcomes)} cases: {total[PASSED]} passed, {total[FROZEN]} with constants, "
        f"{total[REFUSED]} refused, {total[WRONG]} wrong.",
        "", "## Why cases are refused", "", "| reason | cases |", "|---|---|",
        *(f"| {reason} | {', '.join(f'{name} ({n})' for name, n in sorted(found.items()))} |"
          for reason, found in sorted(reasons.items())),
        "", "## Operators", "", "| operator | passed | with constants | refused |",
        "|---|---|---|---|",
        *(f"| {name} | {row[PASSED]} | {row[FROZEN]} | {row[REFUSED]} |"
          for name, row in sorted(rows.items())),
    ]  # fmt: skip
    return _HEAD + "\n" + "\n".join(lines) + "\n"


def group_of(case: Case) -> str:
    """The operator that a case is for: its only node's, else what it is a model of."""
    if case.name.endswith("_expanded"):
        return "bodies of operators"
    nodes = case.model.graph.node
    if len(nodes) == 1:
        return f"{nodes[0].domain}.{nodes[0].op_type}".lstrip(".")
    return "models of several nodes"


def _reason(outcome: Outcome) -> str:
    """A refusal without the names of what it met."""
    known = (
        ("differentiates a module", "gradients are made by a pass, not by a node"),
    )
    for words, reason in known:
        if words in outcome.reason:
            return reason
    return "a value that importing must know, or an extent that must be a number"


def all_outcomes(cases: list[Case]) -> dict[str, Outcome]:
    """What becomes of each case."""
    return {case.name: run_case(case) for case in cases}


def main() -> int:
    cases = [*node_cases(), *stored_cases()]
    PAGE.write_text(page(all_outcomes(cases), cases))
    return 0


if __name__ == "__main__":
    sys.exit(main())
