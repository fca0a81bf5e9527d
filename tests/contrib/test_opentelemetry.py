from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.report.conftest import program
from tvm.contrib.opentelemetry import SpanInstrument, span, trace_calls

pytestmark = pytest.mark.cpu
sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="needs opentelemetry-sdk")


@pytest.fixture
def kept() -> tuple[object, object]:
    """A tracer, and where its spans go."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("test"), exporter


def test_passes_are_spans_within_each_other(kept: tuple) -> None:
    tracer, exporter = kept
    with span("import", tracer, nodes=4):
        pass
    with tvm.transform.PassContext(instruments=[SpanInstrument(tracer)]):
        tvm.relax.get_pipeline("zero")(program())
    found = {s.name: s for s in exporter.get_finished_spans()}
    assert found["import"].attributes["nodes"] == 4
    fuse = found["tvm.pass FuseOps"]
    assert fuse.attributes["tvm.functions.before"] < fuse.attributes["tvm.functions.after"]
    assert fuse.parent.span_id == found["tvm.pass sequential"].context.span_id


def test_a_pass_that_fails_leaves_no_span_open(kept: tuple) -> None:
    tracer, exporter = kept

    @tvm.transform.module_pass(opt_level=0, name="Fails")
    def fails(mod: tvm.IRModule, ctx: object) -> tvm.IRModule:
        raise ValueError("no")

    mod = program()
    with (
        pytest.raises(ValueError, match="no"),
        tvm.transform.PassContext(instruments=[SpanInstrument(tracer)]),
    ):
        fails(mod)
    assert [s.name for s in exporter.get_finished_spans()] == ["tvm.pass Fails"]


def test_calls_are_spans(kept: tuple) -> None:
    tracer, exporter = kept
    vm = tvm.relax.VirtualMachine(tvm.compile(program()), tvm.cpu())
    trace_calls(vm, tracer)
    vm["main"](np.ones((8, 32), "float32"))
    names = [s.attributes["tvm.call"] for s in exporter.get_finished_spans()]
    assert any(name.startswith("fused_matmul") for name in names)
    assert "sum" in names
