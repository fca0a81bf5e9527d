"""Arrays of files: one, several with an index, none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tvm.error import TVMError
from tvm.relax.frontend.nn.llm.models.checkpoint import Safetensors, source

pytestmark = pytest.mark.pure


def test_one_file_and_several(tmp_path: Path) -> None:
    a, b = np.arange(4, dtype="float32"), np.arange(6, dtype="float16").reshape(2, 3)
    save_file({"a": a}, str(tmp_path / "one.safetensors"))
    save_file({"b": b}, str(tmp_path / "two.safetensors"))
    both = Safetensors(tmp_path)
    assert sorted(both) == ["a", "b"]
    assert "c" not in both
    assert (both.array("b") == b).all()
    assert both.array("b").dtype == "float16"
    assert list(Safetensors(tmp_path / "one.safetensors")) == ["a"]
    # an index says which files there are, and cannot lead out of the folder
    index = {"weight_map": {"b": "../elsewhere/two.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert list(Safetensors(tmp_path)) == ["b"]


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(TVMError, match="no such file or folder of safetensors"):
        Safetensors(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x10" * 40)
    with pytest.raises(TVMError, match=r"the file .*model.safetensors"):
        Safetensors(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("[]")
    with pytest.raises(TVMError, match="with an entry weight_map"):
        Safetensors(tmp_path)


def test_sources_name_layers_and_leaves() -> None:
    found = source("h.{i}.a", "h.{i}.b").of("bias", "3")
    assert [name for name, _ in found.parts] == ["h.3.a.bias", "h.3.b.bias"]
