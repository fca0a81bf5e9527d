from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tvm.exec.command import Mistake
from tvm.exec.files import check_input, check_output, load_arrays, save_arrays

pytestmark = pytest.mark.pure


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


def test_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    save_arrays(tmp_path / "x.npz", {"a": np.zeros(2)})
    with pytest.raises(ValueError, match="Object arrays"):
        save_arrays(tmp_path / "x.npz", {"a": np.ones(2), "b": np.array([{}], dtype=object)})
    np.testing.assert_array_equal(load_arrays(tmp_path / "x.npz")["a"], np.zeros(2))
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["no/out.npz", "/proc/out.npz", "."])
def test_places_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="cannot write the outputs"):
        check_output(tmp_path / name, "the outputs")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "member"),
    [("../../x", "__/__/x"), ("/etc/x", "_/etc/x"), ("a/b", "a/b"), ("..", "__")],
)
def test_members_stay_below_their_folder(tmp_path: Path, name: str, member: str) -> None:
    save_arrays(tmp_path / "out.npz", {name: np.ones(2)})
    assert list(load_arrays(tmp_path / "out.npz")) == [member]
