"""Programs in the instructions of Relay's virtual machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.backend.vm_listing import Listing, NoListing

pytestmark = pytest.mark.pure
X, Y = (relay.var(name, shape=(10, 10)) for name in "xy")
C = relay.var("c", shape=(), dtype="bool")


def listed(body: Any) -> Listing:
    params = [p for p in (C, X, Y) if p in relay.analysis.free_vars(body)]
    others = [v for v in relay.analysis.free_vars(body) if v not in params]
    return Listing(tvm.IRModule.from_expr(relay.Function([*params, *others], body)))


def words(listing: Listing) -> list[str]:
    """The instructions in words."""
    lines = [line for line in listing.text.splitlines() if ": " in line and "  # " in line]
    return [line.split("  # ")[-1].strip() for line in lines]


def test_a_kernel_gets_memory_and_gives_its_operands_back() -> None:
    found = listed(X + Y)
    assert found.text == (
        "VM Function[0]: main(x, y)\n"
        "# reg file size = 6\n"
        "# instruction count = 9\n"
        "opcode, fields # inst(text):\n"
        " 0: 11 0 0 2                              # load_const $2 Const[0] 0\n"
        " 1: 16 2 64 2 32 1 0 2 3 10 10            # alloc_storage $3 [10, 10] float32 0\n"
        " 2: 11 1 0 4                              # load_const $4 Const[1] 0\n"
        " 3: 5 3 4 2 32 1 2 5 10 10                # alloc_tensor $5 $3 $4 [10, 10] float32\n"
        " 4: 20 3                                  # kill_register $3\n"
        " 5: 4 0 3 1 0 1 5                         # invoke_packed PackedFunc[0] "
        "(in: $0, $1, out: $5)\n"
        " 6: 20 0                                  # kill_register $0\n"
        " 7: 20 1                                  # kill_register $1\n"
        " 8: 1 5                                   # ret $5\n\n"
    )
    assert found.kernels == ["vm_mod_fused_add"]
    assert found.constants_text.splitlines() == [
        "VM Const[0]: NDArray[(),int64,(1,0)]=[400] on device index 0",
        "VM Const[1]: NDArray[(),int64,(1,0)]=[0] on device index 0",
    ]
    assert "Constant shapes (# 2): [scalar, scalar]" in found.stats
    assert 'Globals (#1): [("main", 0)]' in found.stats


def test_equal_kernels_are_one_and_weights_are_constants() -> None:
    assert listed(relay.nn.softmax(relay.nn.softmax(X))).kernels == ["vm_mod_fused_nn_softmax"]
    found = listed(relay.nn.dense(X, relay.const(np.ones((4, 10), "float32"))))
    assert "invoke_packed PackedFunc[0] (in: $0, $5, out: $4)" in words(found)
    assert found.constants_text.splitlines()[2].startswith("VM Const[2]: NDArray[(4,10),float32")
    assert "[scalar, scalar, [4, 10],]" in found.stats


def test_tuples_reshapes_and_aliases() -> None:
    assert words(listed(relay.Tuple([X, Y]))) == [
        "alloc_data $2 tag(0) [$0,$1]", "kill_register $1", "kill_register $0", "ret $2",
    ]  # fmt: skip
    assert words(listed(relay.reshape(X, (100,)))) == [
        "load_const $1 Const[0] 0", "reshape_tensor $2 $0 $1", "kill_register $0", "ret $2",
    ]  # fmt: skip
    halves = words(listed(relay.split(X, 2).astuple()))
    assert "invoke_packed PackedFunc[0] (in: $0, out: $4, $8)" in halves
    assert halves[-4:] == [
        "alloc_data $9 tag(0) [$4,$8]", "kill_register $8", "kill_register $4", "ret $9",
    ]  # fmt: skip
    same = relay.var("same")
    assert words(listed(relay.Let(same, X, same + X))).count("kill_register $0") == 1


def test_branches_meet_in_one_register() -> None:
    found = words(listed(relay.If(C, X, relay.exp(X))))
    assert found[:4] == ["load_consti $2 1", "if $0 $2 1 3", "move $3 $1", "goto 9"]
    assert found[-4:] == ["kill_register $1", "move $3 $7", "kill_register $0", "ret $3"]
    both = relay.nn.softmax(X)  # each branch makes what it needs
    twice = words(listed(relay.If(C, both + X, both - X)))
    assert sum("PackedFunc[0]" in line for line in twice) == 2


def test_calls_of_functions_by_name() -> None:
    mod, f = tvm.IRModule(), relay.GlobalVar("f")
    mod[f] = relay.Function([X], X + X)
    mod = relay.transform.InferType()(mod)
    mod["main"] = relay.Function([Y], f(Y))
    found = Listing(mod)
    assert found.globals == ["f", "main"]
    assert words(found)[-3:] == ["invoke $1 VMFunc[0]($0)", "kill_register $0", "ret $1"]


def test_extents_that_a_run_tells() -> None:
    x = relay.var("x", shape=(relay.Any(), 4))
    found = listed(relay.exp(x))
    assert found.kernels == [
        "vm_mod_shape_func_exp", "vm_mod_fused_prod", "vm_mod_fused_multiply", "vm_mod_fused_exp",
    ]  # fmt: skip
    said = words(found)
    assert said[0] == "shape_of $1 $0"
    assert "alloc_storage $14 $13 64 float32 0" in said
    assert "alloc_tensor_reg $16 $14 $15 $5 float32" in said
    flat = words(listed(relay.reshape(x, (-1,))))
    assert "reshape_tensor $6 $0 $5" in flat
    assert flat[-2:] == ["kill_register $0", "ret $6"]
    y = relay.var("y", shape=(3,), dtype="int64")
    assert any("shape_func" in name for name in listed(relay.reshape(X, y)).kernels)


@pytest.mark.parametrize(
    "body",
    [
        relay.RefRead(relay.RefCreate(X)),
        relay.Let(relay.var("f"), relay.Function([Y], Y), X),
        relay.split(relay.var("z", shape=(relay.Any(), 4)), 2, 1).astuple(),
    ],
)
def test_others_have_no_text(body: Any) -> None:
    with pytest.raises(NoListing, match="has no instructions"):
        listed(body)
