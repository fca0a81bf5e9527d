"""The folder of a session."""

from __future__ import annotations

import pytest

from tvm.error import RPCError
from tvm.rpc import files

pytestmark = pytest.mark.cpu


def test_files_stay_in_the_folder() -> None:
    path = files.work_path("a/b.txt")
    assert files.work_folder().resolve() in path.parents
    assert files.work_path(".") == files.work_folder().resolve()
    for name in ("../x", "/etc/passwd", "a/../../x"):
        with pytest.raises(RPCError, match="outside of the session's folder"):
            files.work_path(name)


def test_it_is_deleted() -> None:
    old = files.work_folder()
    (old / "x").write_text("x")
    files.clean_up()
    assert not old.exists()
    assert files.work_folder().exists()
