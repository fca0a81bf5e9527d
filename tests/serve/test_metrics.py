"""Numbers of an engine as Prometheus reads them."""

from __future__ import annotations

import pytest

from tvm.serve.engine import Engine
from tvm.serve.metrics import Metrics
from tvm.serve.model import LanguageModel
from tvm.serve.sampling import SamplingParams

pytestmark = pytest.mark.cpu


def test_numbers_are_those_of_the_engine(model: LanguageModel) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    engine = Engine(model)
    metrics = Metrics(engine)
    metrics.ends.labels("stop").inc()
    engine.submit([3, 4], SamplingParams(), lambda _: None)
    families = text_string_to_metric_families(metrics.text().decode())
    found = {sample.name: sample.value for family in families for sample in family.samples}
    assert found["tvm_serve_requests_total"] == 1
    assert found["tvm_serve_waiting"] == 1
    assert found["tvm_serve_running"] == 0
    assert found["tvm_serve_free_tokens"] == model.free_tokens
    assert found["tvm_serve_ends_total"] == 1
