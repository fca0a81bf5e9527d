"""A path leads to one place of the printed text."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.ir.access_path import AccessPath
from tvm.script import tir as T
from tvm.script.printer.doc import IdDoc
from tvm.script.printer.followed import FollowedPath

pytestmark = pytest.mark.pure


@T.prim_func
def two(a: T.int32):
    T.evaluate(a)
    T.evaluate(1)


def test_of_a_node_in_many_places_the_one_at_the_path_is_underlined() -> None:
    use = AccessPath.root().attr("body").attr("seq").array_item(0).attr("value")
    text = two.script(path_to_underline=[use])
    assert text.count("^") == 1
    assert "    T.evaluate(a)\n               ^\n" in text


def test_what_has_no_text_is_underlined_with_what_is_around_it() -> None:
    root = AccessPath.root()
    inner = root.attr("body").attr("seq").array_item(1).attr("other")
    assert "    T.evaluate(1)\n    ^^^^^^^^^^^^^" in two.script(path_to_underline=[inner])
    whole = two.script(path_to_underline=[root])
    assert two.script(path_to_underline=[root.attr("ret_type")]) == whole
    assert two.script(path_to_underline=[root.attr("attrs").map_item("global_symbol")]) == whole


def test_documents_count_within_what_lies_on_the_path() -> None:
    path = AccessPath.root().attr("body").attr("seq").array_item(0).attr("value")
    body, var = two.body, two.params[0]
    inside, outside, whole = IdDoc("a"), IdDoc("a"), IdDoc("f")
    followed = FollowedPath(two, path)
    followed.see(id(two), [], whole)
    followed.see(id(var), [id(two), id(body.seq[1])], outside)
    followed.see(id(var), [id(two), id(body.seq[0])], inside)
    followed.mark()
    assert [len(doc.source_paths) for doc in (inside, outside, whole)] == [1, 0, 0]


def test_values_and_uses_are_underlined_not_types_and_declarations() -> None:
    n, buffer = tir.Var("n", "int32"), tir.decl_buffer((4,), "float32", "A")
    store = tir.BufferStore(buffer, tir.const(1.5, "float32"), [n])
    value = AccessPath.root().attr("value").attr("value")
    assert "A[n] = T.float32(1.5)\n                 ^^^" in store.script(path_to_underline=[value])
    free = AccessPath.root().attr("value").attr("a")
    text = tir.Evaluate(n + 1).script(path_to_underline=[free])
    assert text == "n = T.int32()\nT.evaluate(n + 1)\n           ^"
