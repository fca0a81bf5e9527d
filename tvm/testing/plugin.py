"""The pytest plugin: `pytest_plugins = ["tvm.testing.plugin"]` in a conftest.py.

- a test that takes `target` (or `dev`) runs on each enabled target; `dev` is its first device
- the fixtures of one `tvm.testing.parameters` get their values together
- marks of targets and of single runs (`exclude_targets`, `xfail_parameterizations`, ...)
- `-m` may leave no test
"""

from __future__ import annotations

from typing import Any

import pytest

from tvm.runtime import Device, device
from tvm.target import Target

from .features import Feature
from .parameters import SKIP, XFAIL, GroupedParameter, ParameterGroup
from .targets import EXCLUDED, FAILING, enabled_targets, kind_of

_MARKS = {
    EXCLUDED: "targets on which a test is not run",
    FAILING: "targets on which a test is known to fail",
    XFAIL: "runs of a test that are known to fail",
    SKIP: "runs of a test that are left out",
}


def pytest_configure(config: pytest.Config) -> None:
    """Make the marks known."""
    for name, meaning in _MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    for feature in Feature.all():
        config.addinivalue_line("markers", f"{feature.name}: needs {feature.long_name}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--gtest_args` and the others are taken, so that one command line fits all test-suites."""
    parser.addoption("--gtest_args", action="store", default="")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `target` and correlated parameters their values."""
    _parametrize_groups(metafunc)
    _parametrize_target(metafunc)


def _parametrize_groups(metafunc: pytest.Metafunc) -> None:
    groups: dict[ParameterGroup, dict[str, int]] = {}
    for name in metafunc.fixturenames:
        for definition in metafunc._arg2fixturedefs.get(name, ())[-1:]:
            parameter = getattr(definition.func, "tvm_parameter", None)
            if isinstance(parameter, GroupedParameter):
                groups.setdefault(parameter.group, {})[name] = parameter.index
    for group, indices in groups.items():
        values = [tuple(v[i] for i in indices.values()) for v in group.value_sets]
        metafunc.parametrize(list(indices), values, indirect=True, ids=group.ids)


def _parametrize_target(metafunc: pytest.Metafunc) -> None:
    if "target" not in metafunc.fixturenames:
        return
    for mark in metafunc.definition.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs.get("argnames", ())
        if "target" in (names.replace(" ", "").split(",") if isinstance(names, str) else names):
            return
    if metafunc._arg2fixturedefs.get("target"):
        return                          # a fixture of the test's own
    excluded = _kinds_of_mark(metafunc.definition, EXCLUDED)
    targets = [t for t, _ in enabled_targets() if kind_of(t) not in excluded]
    metafunc.parametrize("target", targets, scope="session")


def _kinds_of_mark(node: Any, name: str) -> set[str]:
    return {kind_of(t) for mark in node.iter_markers(name) for t in mark.args}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the runs that are expected to fail or to be left out."""
    del config
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is None:
            continue
        target = callspec.params.get("target")
        if isinstance(target, (str, Target)):
            for requirement in _target_to_requirement(target):
                item.add_marker(requirement)
        if isinstance(target, (str, Target)) and kind_of(target) in _kinds_of_mark(item, FAILING):
            item.add_marker(pytest.mark.xfail(reason=f"known to fail on {target}"))
        for mark in item.iter_markers(XFAIL):
            if callspec.id in [str(p) for p in mark.args]:
                item.add_marker(pytest.mark.xfail(reason=mark.kwargs["reason"]))
        for mark in item.iter_markers(SKIP):
            if callspec.id in [str(p) for p in mark.args]:
                item.add_marker(pytest.mark.skip(reason=mark.kwargs["reason"]))


def _target_to_requirement(target: str | Target) -> list[pytest.MarkDecorator]:
    """The marks of a test that runs on a target: what such a target needs."""
    libs = target.attrs.get("libs", ()) if isinstance(target, Target) else _libs_of(target)
    for name in ("cudnn", "cublas"):
        if kind_of(target) == "cuda" and name in libs:
            return Feature.get(name).marks()
    known = [feature.name for feature in Feature.all()]
    return Feature.get(kind_of(target)).marks() if kind_of(target) in known else []


def _libs_of(target: str) -> list[str]:
    """The libraries of a target's text, which is not made: its options may ask for a device."""
    for word in target.split():
        if word.startswith("-libs="):
            return word.removeprefix("-libs=").split(",")
    return []


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A choice by marks that leaves no test of a folder is no error."""
    if session.config.option.markexpr and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture
def dev(target: Any) -> Device:
    """The first device of the target."""
    return device(kind_of(target), 0)
