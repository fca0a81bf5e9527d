"""What all tests share: repeatable fuzzing, a compile cache of their own, golden texts."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.covering import pytest_collection_modifyitems as pytest_collection_modifyitems
from tvm.support.contiguous_frames import contiguous_frames

ROOT = Path(__file__).resolve().parent
GOLDEN = ROOT / "golden"

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden texts instead of comparing"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One worker more than there are cores: a tenth of the time tests wait for somebody else."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (cores or 1) + 1


def pytest_configure() -> None:
    gc.set_threshold(50_000, 20)  # programs are trees: searches for circles find next to nothing


def pytest_collection_finish() -> None:
    gc.freeze()  # thousands of tests and modules stay until the end


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """The frames of a test's calls lie in one piece of memory."""
    pyfuncitem.obj = contiguous_frames(pyfuncitem.obj)


@pytest.fixture(scope="session", autouse=True)
def _own_compile_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing compiled by an earlier run, or for the user, is taken for what a test compiles.

    The workers of a run share what they compile.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    cache = folder / "cache"
    cache.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TVM_CACHE_DIR", str(cache))
        patch.delenv("TVM_CACHE", raising=False)
        yield
    if "tvm.ir.op" in sys.modules:
        from tvm.ir.op import customised

        assert not customised(), "a test left a rule at an operator: nothing was kept after it"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Compare a text with `tests/golden/<path>/<test>.txt`: `golden(text)`."""
    folder = GOLDEN / request.path.relative_to(ROOT).with_suffix("")
    path = folder / f"{request.node.name}.txt"
    update = request.config.getoption("--update-golden")
    return lambda text: compare_golden(path, text, update)


def compare_golden(path: Path, text: str, update: bool) -> None:
    """Fail if the file does not hold the text; with `update`, write it."""
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"no {path}: run pytest with --update-golden and look at the result"
    assert text == path.read_text(encoding="utf-8")
