"""Parts of functions, named by the numbers of their nodes, as functions."""

from __future__ import annotations

import pytest

import tvm
from tvm import relay
from tvm.error import InternalError
from tvm.relay.transform import CapturePostDfsIndexInSpans, InferType

pytestmark = pytest.mark.pure

VERSION = '#[version = "0.0.5"]\n'
DIAMOND = "%0 = nn.relu(%x); %1 = abs(%0); %2 = nn.relu(%1); add(%1, %2)"  # nodes 4, 5, 6 and 7
TYPE = "Tensor[(2, 2), float32]"


def module(body: str) -> tvm.IRModule:
    return InferType()(relay.fromtext(f"{VERSION}def @main(%x: {TYPE}) {{ {body} }}"))


def cut(body: str, nodes: list[int], labels: list[str], exits: int = 1, taps: bool = False):
    part = tvm.get_global_func("relay.collage.PartitionForTesting")
    mod = CapturePostDfsIndexInSpans()(module(body))
    return part(exits, taps, "foo", nodes, labels)(mod)


def test_all_of_it() -> None:
    inside = DIAMOND.replace("%x", "%p")
    wanted = module(f'%9 = fn (%p: {TYPE}, Compiler="foo") -> {TYPE} {{ {inside} }}; %9(%x)')
    tvm.ir.assert_structural_equal(cut(DIAMOND, [4, 5, 6, 7], [""] * 4), wanted)


def test_labels_are_functions_inside() -> None:
    made = cut(DIAMOND, [4, 5, 6, 7], ["a", "", "", "b"])
    wanted = module(
        f'%9 = fn (%p: {TYPE}, Compiler="foo") -> {TYPE} {{'
        f' %0 = fn (%a: {TYPE}, Composite="a") -> {TYPE} {{ nn.relu(%a) }};'
        f" %1 = %0(%p); %2 = abs(%1); %3 = nn.relu(%2);"
        f' %4 = fn (%b: {TYPE}, %c: {TYPE}, Composite="b") -> {TYPE} {{ add(%b, %c) }};'
        " %4(%2, %3) }; %9(%x)"
    )
    tvm.ir.assert_structural_equal(made, wanted)


def test_what_cannot_be_a_function_stays() -> None:
    whole = CapturePostDfsIndexInSpans()(module(DIAMOND))
    for nodes, exits, taps in (
        ([5, 6], 1, True),  # two results
        ([5, 6], 2, False),  # one of them read inside, too
        ([4, 6], 3, True),  # abs leaves the part and comes back
    ):
        made = cut(DIAMOND, nodes, [""] * 2, exits, taps)
        tvm.ir.assert_structural_equal(made, whole)


def test_several_results() -> None:
    made = cut(DIAMOND, [5, 6], ["", ""], 2, True)
    wanted = module(
        f'%9 = nn.relu(%x); %8 = fn (%p: {TYPE}, Compiler="foo") -> ({TYPE}, {TYPE}) {{'
        " %0 = abs(%p); %1 = nn.relu(%0); (%0, %1) }; %7 = %8(%9); add(%7.0, %7.1)"
    )
    tvm.ir.assert_structural_equal(made, wanted)


def test_bad_numbers_are_told() -> None:
    with pytest.raises(InternalError, match="not one label"):
        cut(DIAMOND, [4, 5], [""])
    with pytest.raises(InternalError, match="no such node"):
        cut(DIAMOND, [99], [""])
