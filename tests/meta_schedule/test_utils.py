"""Seeds, keys, and what workers and remote sessions are asked for by name."""

from __future__ import annotations

from pathlib import Path

import pytest

import tvm
from tvm import meta_schedule as ms
from tvm.meta_schedule import utils
from tvm.rpc import LocalSession
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.support.scratch import scratch_folder

pytestmark = pytest.mark.pure


@I.ir_module
class Copy:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("copy"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]


def test_derived_object_keeps_the_class_as_written() -> None:
    class Plain:
        pass

    assert ms.derived_object(Plain)._cls is Plain
    with pytest.raises(TypeError, match=r"Please inherit from `Again._cls`"):

        @ms.derived_object
        class Again(ms.derived_object(Plain)):
            pass


def test_cpu_count() -> None:
    assert 1 <= utils.cpu_count(logical=False) <= utils.cpu_count(logical=True)


def test_seeds_fork_the_same_way() -> None:
    assert utils.fork_seed(42, 3) == utils.fork_seed(42, 3)
    assert len(set(utils.fork_seed(42, 8))) == 8
    assert len(utils.fork_seed(None, 2)) == 2


def test_hash_of_a_module_is_sixteen_digits() -> None:
    assert len(utils.shash2hex(Copy)) == 16
    assert int(utils.shash2hex(Copy), 16) == tvm.ir.structural_hash(Copy)
    assert utils.shash2hex(None) == ""


def test_functions_on_a_worker() -> None:
    assert utils.get_global_func_with_default_on_worker(None, len) is len
    assert utils.get_global_func_with_default_on_worker(abs, len) is abs
    with pytest.raises(ValueError, match=r"Function 'no.such' is not registered on the worker"):
        utils.get_global_func_with_default_on_worker("no.such", len)
    for name in ("cpu_count", "print_interactive_table", "remove_build_dir"):
        assert callable(
            utils.get_global_func_with_default_on_worker(f"meta_schedule.{name}", len)
        )


def test_functions_of_a_session() -> None:
    session = LocalSession()
    assert utils.get_global_func_on_rpc_session(session, "rpc.test.addone")(1) == 2
    with pytest.raises(AttributeError, match=r"Unable to find function 'no.such' .* server\. why"):
        utils.get_global_func_on_rpc_session(session, "no.such", "why")


def test_build_folders_go(tmp_path: Path) -> None:
    """Those of our builders whole, others only with nothing else in them."""
    ours = Path(scratch_folder("tvm-build-"))
    (ours / "lib.tar").write_bytes(b"")
    (ours / "lib.log").write_bytes(b"")
    utils.remove_build_dir(str(ours / "lib.tar"))
    assert not ours.exists()

    other = tmp_path / "built"
    other.mkdir()
    (other / "lib.tar").write_bytes(b"")
    utils.remove_build_dir(str(other / "lib.tar"))
    assert not other.exists()

    kept = tmp_path / "notes.txt"
    kept.write_text("mine")
    (tmp_path / "lib.tar").write_bytes(b"")
    utils.remove_build_dir(str(tmp_path / "lib.tar"))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    utils.remove_build_dir(str(tmp_path / "lib.tar"))  # gone already
    assert kept.read_text() == "mine"


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    utils.print_interactive_table("ID | Name")
    assert capsys.readouterr().out == "ID | Name\n"


def test_what_prints_by_default() -> None:
    assert utils._get_default_str(3) == f"meta_schedule.int({id(3):#x})"
