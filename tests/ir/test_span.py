"""Spans: places, several at once, the ambient one."""

from __future__ import annotations

import copy
import pickle

import pytest

import tvm
from tvm.ir import SequentialSpan, SourceName, Span
from tvm.ir.span import SourceMap, ambient_span, merge_spans, span_scope

pytestmark = pytest.mark.pure
A, B = Span("a.py", 1, 2, 3, 4), Span(SourceName("b.py"), 5, 5, 1, 2)


def test_printing() -> None:
    assert str(A) == "a.py:1:3"
    assert str(SequentialSpan([A, B])) == "a.py:1:3, b.py:5:1"


def test_merging_flattens_and_keeps_order() -> None:
    assert merge_spans() is None
    assert merge_spans(None, A) is A
    both = merge_spans(A, SequentialSpan([B, A]), None)
    assert isinstance(both, SequentialSpan)
    assert both.spans == (A, B)
    assert both.source_name is A.source_name


def test_ambient_span_nests() -> None:
    assert ambient_span() is None
    with span_scope(A):
        with span_scope(B):
            assert ambient_span() is B
        with span_scope(None):
            assert ambient_span() is A
    assert ambient_span() is None


def test_source_map_notes_texts() -> None:
    sources = SourceMap()
    name = sources.add("a.py", "x = 1")
    assert name.name == "a.py"
    assert sources.source_map[name] == "x = 1"


def test_sources_of_one_name_are_one() -> None:
    first, second = SourceName("a.py"), SourceName("a.py")
    assert first == second
    assert first.same_as(second)
    assert hash(first) == hash(second)
    assert first != SourceName("b.py")
    assert tvm.ir.load_json(tvm.ir.save_json(first)) == first
    assert copy.deepcopy(first) == first
    assert pickle.loads(pickle.dumps(first)) == first
