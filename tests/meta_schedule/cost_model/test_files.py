"""Named arrays in a file."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from tvm.meta_schedule.cost_model.files import load_arrays, save_arrays

pytestmark = pytest.mark.pure


def test_round_trip(tmp_path: Path) -> None:
    path = str(tmp_path / "arrays")
    save_arrays(path, {"a": np.arange(3), "names": np.array(["x", "yy"])})
    save_arrays(path, {"a": np.arange(4), "names": np.array(["x", "yy"])})
    found = load_arrays(path, "a test", ("a",))
    assert found["a"].tolist() == [0, 1, 2, 3]
    assert found["names"].tolist() == ["x", "yy"]
    assert [p.name for p in tmp_path.iterdir()] == ["arrays"], "nothing is left beside it"


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ValueError, match=r"legal: a file that a test saved"):
        load_arrays(str(path), "a test", ("a",))
    save_arrays(str(path), {"b": np.zeros(1)})
    with pytest.raises(ValueError, match=r"found: a file without a\n"):
        load_arrays(str(path), "a test", ("a",))
    with pytest.raises(ValueError, match=r"found: no such file"):
        load_arrays(str(tmp_path / "none"), "a test", ())
