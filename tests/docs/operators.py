"""`docs/operators.md`: what each operator of Relax and each name of TOPI has, asked of the code.

`python -m tests.docs.operators --write` writes the page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from tests.docs.pages import ROOT
from tests.relax.op.cases import CASES, SYMBOLS, Case
from tests.structure import reference
from tests.topi import calls
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir.op import Op
from tvm.relax.op.declare import script_ops
from tvm.relax.struct_info import ShapeStructInfo, TensorStructInfo, TupleStructInfo

PAGE = ROOT / "docs" / "operators.md"
# Operators about functions, devices, storage, workers: no tensor is computed by them.
BESIDE = re.compile(
    r"relax\.(builtin|ccl|dist|memory|vm|inspect)\.|relax\.(call_|invoke_|make_closure|null_value|"
    r"print|assert_op|hint_on_device|to_vdevice|wrap_param|shape_of|shape_to_tensor|"
    r"tensor_to_shape|grad\.(no_grad|start_checkpoint|end_checkpoint))"
)
DTYPES = (
    "float32", "float16", "float64", "bfloat16", "int8", "int32", "int64", "uint8", "bool",
)  # fmt: skip
POLICY = {0: "always", 1: "follow", 2: "never"}
# The cases of these stand in their family's tests: results whose shape depends on data.
DATA_DEPENDENT = frozenset(
    ("unique", "nonzero", "dynamic_strided_slice", "vision.all_class_non_max_suppression")
)


def names() -> list[str]:
    """The operators that the reference names, those of its element-wise families too."""
    lines = (reference.DATA / "graph_ops.txt").read_text(encoding="utf-8").splitlines()
    found = {line.split("(")[0].strip() for line in lines if line.startswith("relax.")}
    families = [line for line in lines if re.fullmatch(r"\w+ \(\w+\)", line)]
    for line in families:
        name, family = line[:-1].split(" (")
        if name != "nn":
            found.add(f"relax.nn.{name}" if family.startswith("unary_nn") else f"relax.{name}")
    return sorted(found)


def _info(case: Case, symbols: dict[Any, Any], dtype: str | None = None) -> Any:
    """The struct info of a case's result; extents that `symbols` names are replaced."""
    operands = [
        relax.Var(
            f"x{i}",
            TensorStructInfo(
                [symbols.get(e, e) for e in x.shape],
                dtype if dtype is not None and x.dtype == case.tensors[0].dtype else x.dtype,
            ),
        )
        for i, x in enumerate(case.tensors)
    ]
    return relax.BlockBuilder().normalize(case.build(*operands)).struct_info


def _known(info: Any) -> bool:
    if isinstance(info, TupleStructInfo):
        return all(map(_known, info.fields))
    if isinstance(info, ShapeStructInfo):
        return info.ndim != -1
    return isinstance(info, TensorStructInfo) and info.ndim != -1


def _inferred(cases: Sequence[Case], symbolic: bool) -> bool:
    """Whether a case's shape is known, with constant extents or with a symbol for each of them."""
    for case in cases:
        symbols: dict[Any, Any] = dict(SYMBOLS)
        if symbolic:
            extents = {e for x in case.tensors for e in x.shape}
            symbols = {e: tir.Var(f"s{e}", "int64") for e in extents if e != 1}
            own = {e: tir.Var(str(e), "int64") for e in SYMBOLS}
        try:
            if _known(_info(case, symbols)):
                return True
        except TVMError:
            pass
        try:
            if symbolic and _known(_info(case, own)) and own.keys() & _extents(case):
                return True
        except TVMError:
            pass
    return False


def _extents(case: Case) -> set[Any]:
    return {e for x in case.tensors for e in x.shape}


def _dtypes(cases: Sequence[Case]) -> str:
    """The data types that the first operand may have."""
    taken = []
    for dtype in DTYPES:
        for case in cases:
            try:
                _info(case, dict(SYMBOLS), dtype)
            except (TVMError, TypeError, ValueError):
                continue
            taken.append(dtype)
            break
    return "all" if taken == list(DTYPES) else ", ".join(_short(taken))


def _short(taken: Sequence[str]) -> list[str]:
    floats = [d for d in DTYPES if "float" in d]
    ints = [d for d in DTYPES if "int" in d]
    result = []
    for word, group in (("floats", floats), ("integers", ints)):
        if all(d in taken for d in group):
            result.append(word)
        else:
            result += [d for d in group if d in taken]
    return result + [d for d in ("bool",) if d in taken]


def row(name: str) -> list[str]:
    """The cells of an operator: name, then yes or what stands there instead."""
    short = name.removeprefix("relax.")
    op = Op.get(name)
    cases = [case for case in CASES if case.op == short]
    by_data = short in DATA_DEPENDENT
    static = by_data or not _takes_tensors(cases) or _inferred(cases, symbolic=False)
    symbolic = by_data or not _takes_tensors(cases) or _inferred(cases, symbolic=True)
    return [
        f"`{short}`",
        _yes((op.has_attr("FInferStructInfo") and short in script_ops()) or _script_of(short)),
        _yes(static) if not by_data else "by data",
        _yes(symbolic) if not by_data else "by data",
        _legal(op),
        _gradient(op),
        _yes(op.has_attr("FRelaxInferLayout"), "none"),
        POLICY[op.get_attr("TMixedPrecisionPolicy")],
        _yes(op.has_attr("FReference")),
        _dtypes(cases) if _takes_tensors(cases) else "",
    ]


def _script_of(short: str) -> bool:
    """Operators that one Python function makes by its operands (attention, with and without)."""
    return short in ("nn.attention", "nn.attention_bias", "nn.attention_var_len")


def _takes_tensors(cases: Sequence[Case]) -> bool:
    return any(case.tensors for case in cases)


def _legal(op: Op) -> str:
    return "yes" if op.has_attr("FLegalize") else "call" if op.has_attr("FCallPacked") else "-"


def _gradient(op: Op) -> str:
    rule = op.get_attr("FPrimalGradient")
    if rule is None:
        return "-"
    return "none flows" if (rule.__doc__ or "").startswith("No gradient") else "yes"


def _yes(there: bool, otherwise: str = "-") -> str:
    return "yes" if there else otherwise


def _operators() -> Iterator[str]:
    yield "## Operators of Relax"
    yield ""
    yield (
        "Each is declared once, in `tvm/relax/op`. *Static* and *symbolic*: the result's shape is "
        "inferred from constant extents and from symbols. *Layout*: a rule takes operands in other "
        "layouts; none: the operator is about the order of elements, or about single ones. "
        "*Precision*: the policy of `ToMixedPrecision`. "
        "*Reference*: its meaning in numpy, which tests and the interpreter use. *Types*: of the "
        "first operand."
    )
    yield ""
    titles = ("operator", "declared", "static", "symbolic", "legalised", "gradient", "layout",
              "precision", "reference", "types")  # fmt: skip
    yield f"| {' | '.join(titles)} |"
    yield "|" + "---|" * len(titles)
    for name in names():
        if not BESIDE.match(name):
            yield f"| {' | '.join(row(name))} |"
    beside = [name.removeprefix("relax.") for name in names() if BESIDE.match(name)]
    yield ""
    yield "Beside these, operators about functions, devices, storage and workers: " + ", ".join(
        f"`{name}`" for name in beside
    ) + "."


# --- TOPI ---


def topi_rows() -> Iterator[tuple[str, str, bool, str]]:
    """Module, name, whether it is there, and the test that calls and compares it."""
    tested = calls.promised()
    for entry in reference.entries():
        if not entry.module.startswith("tvm.topi") or entry.owner:
            continue
        home = reference.home_of(entry)
        if home is not None and isinstance(getattr(home, entry.name), type):
            continue  # a kind of error, nothing to be computed
        test = tested.get(f"{entry.module}.{entry.name}", "").partition("::")[0]
        yield entry.module, entry.name, home is not None, test


def _topi() -> Iterator[str]:
    rows = list(topi_rows())
    there = sum(row[2] for row in rows)
    yield "## TOPI"
    yield ""
    yield f"{there} of {len(rows)} public functions are there. They are compared with numpy, scipy"
    yield "or loops written out in the test; the column names the file in `tests/topi`, whose tests"
    yield "are watched while they run: each has to call what it is named for (`compared.txt`)."
    yield "Types, ranks, axes, options and open extents of those that users call are compiled and"
    yield "compared in `tests/topi/sweep`: three forms of each, all of them by `make test-long`."
    yield ""
    yield "| module | names | compared in |"
    yield "|---|---|---|"
    groups: dict[tuple[str, str], list[str]] = {}
    for module, name, _, test in rows:
        groups.setdefault((module.removeprefix("tvm.topi."), test), []).append(name)
    for (module, test), members in groups.items():
        words = ", ".join(f"`{name}`" for name in members)
        yield f"| `{module}` | {words} | {(test and f'`{test}`') or 'not yet'} |"


def text() -> str:
    head = "# Operators\n\nWritten by `python -m tests.docs.operators --write`.\n"
    sections = ["\n".join(_operators()), "\n".join(_topi())]
    return head + "".join(f"\n{section}\n" for section in sections)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(text(), encoding="utf-8")
    else:
        print(text(), end="")

