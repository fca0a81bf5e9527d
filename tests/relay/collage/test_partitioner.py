"""Parts of programs go to the compiler that takes them at the least cost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tvm
from tvm import relay
from tvm.error import InternalError
from tvm.relay.collage import CustomCostEstimator, MockCostEstimator
from tvm.relay.dataflow_pattern import is_op, wildcard
from tvm.relay.op.contrib import register
from tvm.relay.transform import CapturePostDfsIndexInSpans, CollagePartition, InferType

pytestmark = pytest.mark.pure

HOOK = "example_target_hook"
VERSION = '#[version = "0.0.5"]\n'


@pytest.fixture(autouse=True)
def patterns() -> Iterator[None]:
    def table() -> list[tuple[object, ...]]:
        add = is_op("add")(wildcard(), wildcard())
        sub = is_op("subtract")(wildcard(), wildcard())
        return [
            (f"{HOOK}.relu", is_op("nn.relu")(wildcard()), lambda call: True),
            (f"{HOOK}.add", add),
            (f"{HOOK}.sub_abs", is_op("abs")(sub)),
        ]

    register.register_pattern_table(HOOK, table)
    yield
    del register._TABLES[HOOK]


def text(mod: tvm.IRModule) -> str:
    return str(mod.astext(show_meta_data=False)).replace(VERSION, "")


def module(body: str, params: str = "%x: Tensor[(4, 4), float32]") -> tvm.IRModule:
    read = relay.fromtext(f"{VERSION}def @main({params}) {{ {body} }}")
    return CapturePostDfsIndexInSpans()(InferType()(read))


def collage(mod, costs, tvm_max_depth=8, byoc_max_depth=8, style=None,
            kinds=("llvm", HOOK)):  # fmt: skip
    config = {
        "relay.collage.tvm_max_depth": tvm_max_depth,
        "relay.collage.byoc_max_depth": byoc_max_depth,
        "relay.collage.byoc_fusion_style": [style] if style else [],
    }
    with tvm.transform.PassContext(config=config) as ctxt:
        targets = [tvm.target.Target(kind) for kind in kinds]
        found = tvm.target.make_compilation_config(ctxt, targets)
        estimator = MockCostEstimator(costs) if isinstance(costs, dict) else costs
        return CollagePartition(found, estimator)(mod)


def expect(mod: tvm.IRModule, main: str, functions: str = "", params: str | None = None) -> None:
    params = params or "%x: Tensor[(4, 4), float32]"
    wanted = relay.fromtext(f"{VERSION}{functions}\ndef @main({params}) {{ {main} }}")
    tvm.ir.assert_structural_equal(mod, InferType()(wanted))


def taken(name: str, body: str, params: str = "%p: Tensor[(4, 4), float32]") -> str:
    return (
        f'def @{name}({params}, Primitive=1, Compiler="{HOOK}", global_symbol="{name}")'
        f" -> Tensor[(4, 4), float32] {{ {body} }}\n"
    )


def composite(label: str, body: str, params: str = "%q: Tensor[(4, 4), float32]") -> str:
    return f'fn ({params}, Composite="{HOOK}.{label}") -> Tensor[(4, 4), float32] {{ {body} }}'


RELU = composite("relu", "nn.relu(%q)")


def test_the_cheaper_compiler() -> None:
    mod = module("nn.relu(%x)")
    expect(collage(mod, {"llvm": 1, HOOK: 2}), "nn.relu(%x)")
    name = f"collage_{HOOK}_nn_relu"
    function = taken(name, f"%0 = {RELU}; %0(%p)")
    expect(collage(mod, {"llvm": 2, HOOK: 1}), f"@{name}(%x)", function)


def test_kernels_that_touch_are_one_function_and_equal_ones_the_same() -> None:
    costs = {"llvm": 10, HOOK: 1}
    both = collage(module("nn.relu(nn.relu(%x))"), costs, byoc_max_depth=1)
    name = f"collage_{HOOK}"
    function = taken(name, f"%0 = {RELU}; %1 = %0(%p); %2 = {RELU}; %2(%1)")
    expect(both, f"@{name}(%x)", function)
    apart = collage(module("nn.relu(abs(nn.relu(%x)))"), costs)
    assert [v.name_hint for v in apart.get_global_vars()] == [f"collage_{HOOK}_nn_relu", "main"]


def test_a_value_does_not_leave_a_part_and_come_back() -> None:
    mod = module("%0 = nn.relu(%x); %1 = abs(%0); %2 = nn.relu(%0); add(%1, %2)")
    made = collage(mod, {"llvm": 10, HOOK: 1})
    assert "%4 = @collage_example_target_hook_nn_relu(%x)" in text(made)
    assert made["collage_example_target_hook_nn_relu_add"].params[1].name_hint == "FunctionVar_1"


def test_several_results_are_a_tuple() -> None:
    made = collage(module("%0 = nn.relu(%x); %1 = nn.relu(%0); (%0, %1)"), {"llvm": 9, HOOK: 1},
                   byoc_max_depth=1)  # fmt: skip
    assert isinstance(made[f"collage_{HOOK}"].ret_type, relay.TupleType)


def test_fused_operators_cost_less() -> None:
    """Four operators of TVM's at once: 1 + .9 + .81 + .729; the last one for less elsewhere."""
    mod = module("nn.relu(exp(abs(sqrt(%x))))")
    for cost, wins in ((728, True), (730, False)):
        assert (HOOK in text(collage(mod, {"llvm": 1000, HOOK: cost}))) == wins


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ("abs(nn.relu(%x))", {"nn.relu abs"}),
        ("nn.relu(nn.softmax(%x))", {"nn.softmax nn.relu"}),
        ("sum(nn.relu(%x), axis=[1])", {"nn.relu sum"}),
        ("sum(reshape(%x, newshape=[16]))", {"reshape", "sum"}),
        ("nn.dense(nn.relu(%x), %x, units=None)", {"nn.relu", "nn.dense"}),
        ("%0 = abs(%x); %1 = exp(%x); %2 = (%0, %1); concatenate(%2)",
         {"abs", "exp", "concatenate", "abs exp concatenate"}),
        ("%0 = split(%x, indices_or_sections=2); add(%0.0, %0.1)",
         {"split", "add", "split add"}),
        ("%0 = nn.relu(%x); where(abs(%0), exp(%0), %0)", {"nn.relu abs exp where"}),
    ],
)  # fmt: skip
def test_what_tvm_takes_at_once(body: str, parts: set[str]) -> None:
    seen = set()

    def estimate(mod: tvm.IRModule, target: tvm.target.Target) -> float:
        calls = []
        relay.analysis.post_order_visit(
            mod["main"], lambda e: calls.append(e) if isinstance(e, relay.Call) else None
        )
        seen.add(" ".join(call.op.name for call in calls))
        return 1.0

    name = "tests.relay.collage.estimate"
    tvm.register_global_func(name, estimate, override=True)
    collage(module(body), CustomCostEstimator(name), kinds=("llvm",))
    tvm.ffi.registry.remove_global_func(name)
    assert seen == parts


def test_styles_of_fusion() -> None:
    mod = module("nn.relu(nn.relu(%x))")
    costs = {"llvm": 10, HOOK: 1}
    fused = collage(mod, costs, style=f"{HOOK}.TVMFusion")
    assert f"collage_{HOOK}_nn_relu_nn_relu" in text(fused)
    single = collage(mod, costs, style=f"{HOOK}.NoFusion")
    assert f"@collage_{HOOK}(%x)" in text(single)
    with pytest.raises(InternalError, match="Invalid fusion name"):
        collage(mod, costs, style=f"{HOOK}.Other")


def test_what_is_missing_is_told() -> None:
    mod = module("nn.relu(%x)")
    with pytest.raises(InternalError, match="no cost of target"):
        collage(mod, {"llvm": 1})
    with pytest.raises(InternalError, match="nobody takes a call"):
        collage(module("argsort(%x)"), {"llvm": 1, HOOK: 1})
    with pytest.raises(InternalError, match="too many estimates"):
        collage(mod, MockCostEstimator({"llvm": 1, HOOK: 1}, 1))
    config = tvm.target.make_compilation_config(None, [tvm.target.Target("llvm")])
    with pytest.raises(InternalError, match=r"missing binding for 'relay\.collage\.tvm_max_depth"):
        CollagePartition(config)(mod)


def test_branches_and_bindings_stay_apart() -> None:
    params = "%x: Tensor[(4, 4), float32], %c: bool"
    mod = module("let %y = nn.relu(%x); if (%c) { nn.relu(%y) } else { abs(%y) }", params)
    made = collage(mod, {"llvm": 10, HOOK: 1})
    assert text(made).count("@collage_example_target_hook_nn_relu(%") == 3
