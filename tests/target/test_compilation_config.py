"""The targets of one compilation."""

from __future__ import annotations

import pytest

import tvm
from tvm.target import Target
from tvm.target.compilation_config import make_compilation_config

pytestmark = pytest.mark.pure


def test_one_target() -> None:
    config = make_compilation_config(tvm.transform.PassContext(), "cuda", "llvm")
    assert config.host_target == Target("llvm")
    assert config.optional_homogeneous_target == Target("cuda", "llvm")
    assert config.default_primitive_virtual_device.dlpack_device_type() == 2
    assert config.host_virtual_device.dlpack_device_type() == 1


def test_several_targets() -> None:
    config = make_compilation_config(None, {1: Target("llvm"), 2: Target("cuda")})
    assert config.host_target == Target("llvm")
    assert [t.kind.name for t in config.primitive_targets] == ["llvm", "cuda"]
    assert config.optional_homogeneous_target is None
    own = make_compilation_config(None, [Target("cuda", "c")])
    assert own.host_target.kind.name == "c"


def test_none_is_refused() -> None:
    with pytest.raises(ValueError, match="found: no target"):
        make_compilation_config(None, [])
