"""What a server counts, for Prometheus; by its own library (the extra `serve` installs it)."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tvm.runtime.extras import extra_package

from .engine import Counts, Engine

_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counters and gauges of one engine, and times of its requests."""

    def __init__(self, engine: Engine) -> None:
        library = extra_package("prometheus_client", "serve", "metrics of a server")
        self._library = library
        self._registry = library.CollectorRegistry()
        core = extra_package("prometheus_client.core", "serve", "metrics of a server")
        self._registry.register(_EngineNumbers(engine, core))
        self.first_token = library.Histogram(
            "tvm_serve_first_token_seconds", "from a request to its first token",
            registry=self._registry, buckets=_BUCKETS,
        )  # fmt: skip
        self.whole = library.Histogram(
            "tvm_serve_request_seconds", "from a request to its end",
            registry=self._registry, buckets=_BUCKETS,
        )  # fmt: skip
        self.ends = library.Counter(
            "tvm_serve_ends", "how requests ended", ["reason"], registry=self._registry
        )

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        found: bytes = self._library.generate_latest(self._registry)
        return found


class _EngineNumbers:
    """Asks the engine when it is asked itself."""

    def __init__(self, engine: Engine, core: Any) -> None:
        self._engine, self._core = engine, core

    def collect(self) -> Any:
        """The numbers as they are now."""
        core = self._core
        for field in fields(Counts):
            yield core.CounterMetricFamily(
                f"tvm_serve_{field.name}", field.name.replace("_", " "),
                value=getattr(self._engine.counts, field.name),
            )  # fmt: skip
        for name in ("running", "waiting"):
            yield core.GaugeMetricFamily(
                f"tvm_serve_{name}", f"requests {name}", value=getattr(self._engine, name)
            )
        model = self._engine.model
        yield core.GaugeMetricFamily(
            "tvm_serve_free_tokens", "room in the cache", value=model.free_tokens
        )
