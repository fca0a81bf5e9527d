"""Features: marks by what is there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tvm.testing
from tvm.testing import Feature
from tvm.testing.plugin import pytest_configure

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def _known_marks(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    """As with the plugin: the names of features are marks, here of some that tests make too."""
    pytest_configure(pytestconfig)
    for name in ("ground", "roof"):
        pytestconfig.addinivalue_line("markers", name)
    monkeypatch.setattr(Feature, "_all_features", dict(Feature._all_features))


def reasons(feature: Feature, level: str = "compile-and-run") -> list[str]:
    marks = [m for m in feature.marks(level) if m.name == "skipif"]
    return [m.kwargs["reason"] for m in marks]


def test_levels() -> None:
    Feature("ground", run_time_check=lambda: "it rains")
    roof = Feature("roof", "a roof", compile_time_check=lambda: False, parent_features="ground")
    assert reasons(roof) == ["needs ground: it rains", "needs a roof: it is not there"]
    assert reasons(roof, "compile-only") == ["needs a roof: it is not there"]
    assert reasons(roof, "optional") == []
    with pytest.raises(tvm.TVMError, match="legal: compile-and-run, compile-only, optional"):
        roof.marks("perhaps")


def some_test(of):
    """A function for `of` to mark."""

    def test() -> None: ...

    return of(test)


def test_decorators() -> None:
    marked = some_test(tvm.testing.requires_llvm)
    assert [m.name for m in marked.pytestmark] == ["llvm"]
    again = some_test(Feature.require("llvm", "compile-only"))
    assert [m.name for m in again.pytestmark] == ["llvm"]
    with pytest.raises(tvm.TVMError, match="found: no feature of that name"):
        Feature.require("moon")


def test_versions_and_packages() -> None:
    assert not tvm.testing.requires_package("numpy").args[0]
    assert tvm.testing.requires_package("numpy", "no_such_package").args[0]
    assert not tvm.testing.skip_if_32bit("sizes").args[0]
    old = tvm.testing.requires_llvm_minimum_version(3)
    assert [m.args[0] for m in some_test(old).pytestmark if m.name == "skipif"] == [False]
    new = tvm.testing.requires_llvm_minimum_version(999)
    assert [m.args[0] for m in some_test(new).pytestmark if m.name == "skipif"] == [True]


def test_several_devices_are_a_feature() -> None:
    assert isinstance(tvm.testing.requires_multi_gpu, Feature)
    assert tvm.testing.requires_multi_gpu.marks()


def test_partners_and_bare_machines_are_features() -> None:
    for name in ("cmsisnn", "ethosn", "ethosu", "micro", "corstone300", "vitis_ai", "libtorch"):
        marked = some_test(getattr(tvm.testing, f"requires_{name}"))
        assert any(m.name == "skipif" for m in marked.pytestmark), name


def test_marks_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SKIP_SLOW_TESTS", raising=False)
    assert [m.args[0] for m in some_test(tvm.testing.slow).pytestmark] == [False]
    monkeypatch.setenv("WHEEL_TEST", "1")
    assert [m.args[0] for m in some_test(tvm.testing.skip_if_wheel_test).pytestmark] == [True]


def test_what_the_environment_said() -> None:
    code = "import tvm.testing.utils as u; print(u.IS_IN_CI, u.SKIP_SLOW_TESTS)"
    cases = (({"CI": "true"}, "True False"), ({"SKIP_SLOW_TESTS": "1"}, "False True"))
    for values, expected in cases:
        plain = {k: v for k, v in os.environ.items() if k not in ("CI", "SKIP_SLOW_TESTS")}
        done = subprocess.run(
            [sys.executable, "-c", code], env={**plain, **values}, capture_output=True, text=True
        )
        assert done.stdout.split() == expected.split(), done.stderr
