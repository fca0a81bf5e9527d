"""The plugin at work: a file of tests is run by pytest in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.pure

TESTS = '''
import pytest
import tvm.testing
from tvm.testing import exclude_targets, known_failing_targets, parametrize_targets

size = tvm.testing.parameter(1, 2)
low, high = tvm.testing.parameters((1, 2), (3, 4), ids=["small", "large"])
named = tvm.testing.parameter(by_dict={"one": 1, "two": 2})
made = []


@tvm.testing.fixture(cache_return_value=True)
def data(size):
    made.append(size)
    return [size]


@pytest.mark.parametrize("again", range(3))
def test_cached_values_are_copies(data, size, again):
    assert data == [size]
    data.append(0)
    assert len(made) <= size


def test_together(low, high, size):
    assert high == low + 1


class TestReceiver:
    number = tvm.testing.parameter(5, 6)

    def test_number(self, number):
        assert number in (5, 6)


class Opaque:
    pass


class TestCachedMethod:
    calls = []

    @tvm.testing.fixture(cache_return_value=True)
    def doubled(self, size):
        self.calls.append(size)
        return [2 * size]

    @pytest.mark.parametrize("again", range(2))
    def test_value(self, doubled, size, again):
        assert doubled == [2 * size]

    def test_calls(self):
        assert sorted(self.calls) == [1, 2]

    @tvm.testing.fixture(cache_return_value=True)
    def opaque(self):
        return [Opaque()]

    def test_what_has_no_copy_is_not_kept(self, request):
        with pytest.raises(TypeError, match="an object of class Opaque"):
            request.getfixturevalue("opaque")


@pytest.mark.parametrize("target,other", [("llvm", 0)])
def test_marks_of_a_target(request, target, other):
    needed = [d.mark for d in tvm.testing.plugin._target_to_requirement(target)]
    assert "llvm" in [mark.name for mark in needed]
    assert all(mark in list(request.node.iter_markers()) for mark in needed)


def test_each_target(target, dev):
    assert target == "llvm" and dev == tvm.cpu()


@exclude_targets("llvm")
def test_no_target(target):
    raise AssertionError


@known_failing_targets("llvm")
def test_known_failure(target):
    raise AssertionError


@parametrize_targets("llvm", "vulkan")
def test_some_targets(target, dev):
    assert target == "llvm"


@parametrize_targets
def test_all_targets(target):
    assert target == "llvm"


@tvm.testing.xfail_parameterizations("one", reason="it is known")
@tvm.testing.skip_parameterizations("two", reason="it takes long")
def test_marked(named):
    raise AssertionError


@tvm.testing.uses_gpu
def test_without_need():
    pass


@tvm.testing.requires_vulkan
def test_with_need():
    raise AssertionError
'''


def test_counts(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tvm.testing.plugin", "--strict-markers"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # 6 copies, 4 together, 2 numbers, 6 of cached methods, marks, target, 1 of 2 targets, all
    # targets, without need
    assert "23 passed" in done.stdout
    assert "2 xfailed" in done.stdout
    # excluded, vulkan, "two", with need
    assert "4 skipped" in done.stdout


@pytest.mark.parametrize(("marks", "code"), [(["-m", "uses_gpu"], 0), ([], 5)])
def test_marks_may_leave_no_test(tmp_path: Path, marks: list[str], code: int) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n" if marks else "")
    command = [sys.executable, "-m", "pytest", "-p", "tvm.testing.plugin"]
    done = subprocess.run(
        [*command, *marks, "-p", "no:cacheprovider", str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == code, done.stdout
