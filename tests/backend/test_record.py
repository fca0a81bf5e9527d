"""The table of backends."""

from __future__ import annotations

import pytest

from tvm.backend import BACKENDS, find_backend
from tvm.backend.record import Backend
from tvm.error import TargetError

pytestmark = pytest.mark.pure


def test_backends_are_found_by_target_kind() -> None:
    found = find_backend("llvm")
    assert found is BACKENDS["llvm"]
    assert found.makes_host_code


def test_unknown_kinds_are_refused_with_near_names() -> None:
    with pytest.raises(TargetError) as caught:
        find_backend("lvm")
    assert "did you mean 'llvm'?" in str(caught.value)
    assert "legal: c, cuda, hexagon, llvm, metal, opencl, rocm, vulkan, webgpu" in str(caught.value)


def test_records_name_a_home_that_builds() -> None:
    for record in BACKENDS.values():
        assert isinstance(record, Backend)
        home = record._home()
        assert callable(home.build)
        assert callable(home.emit_text)


def test_installed_packages_may_add_records(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        def load(self) -> Backend:
            return Backend("toy", "nowhere")

    monkeypatch.setattr("tvm.backend.entry_points", lambda group: [Entry()])
    monkeypatch.setattr("tvm.backend.BACKENDS", dict(BACKENDS))
    assert find_backend("toy").home == "nowhere"
