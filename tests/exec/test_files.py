from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tvm.exec.command import Mistake
from tvm.exec.files import check_input, load_arrays, save_arrays, written_beside

pytestmark = pytest.mark.pure


def test_writes_whole(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("old")
    with written_beside(out, "the text") as draft:
        draft.write_text("new")
        assert out.read_text() == "old"
    assert out.read_text() == "new"
    assert list(tmp_path.iterdir()) == [out]


def test_error_on_the_way_leaves_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("old")

    def fail() -> None:
        with written_beside(out, "the text") as draft:
            draft.write_text("half of")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


def test_full_disk_is_told(tmp_path: Path) -> None:
    def fail() -> None:
        with written_beside(tmp_path / "out", "the text"):
            raise OSError(28, "No space left on device")

    with pytest.raises(Mistake, match=r"cannot write the text .*\n  found: No space left"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_arrays_round_trip_under_any_name(tmp_path: Path) -> None:
    arrays = {
        "file": np.arange(6, dtype=np.int8).reshape(2, 3),
        "a/b.out": np.float32(2.5),
        "none": np.zeros((0, 4), np.float64),
    }
    save_arrays(tmp_path / "x.npz", arrays)
    loaded = load_arrays(tmp_path / "x.npz")
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].dtype == array.dtype


def test_array_without_a_name_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3))
    with pytest.raises(Mistake, match="one array without a name"):
        load_arrays(tmp_path / "x.npy")


def test_missing_input_names_the_first_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="no 'a' in directory"):
        check_input(tmp_path / "a" / "b" / "c", "the model")
    with pytest.raises(Mistake, match="not a regular file"):
        check_input(tmp_path, "the model")
