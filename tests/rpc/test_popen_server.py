"""The answers of a server that talks over pipes."""

from __future__ import annotations

import io
import zipfile

import pytest

from tvm.rpc import popen_server
from tvm.runtime.wire import decode, encode, read_frame, write_frame

pytestmark = pytest.mark.cpu


def test_answers_in_order_until_the_end() -> None:
    requests, answers = io.BytesIO(), io.BytesIO()
    for name in ("rpc.test.addone", "no.such.function"):
        write_frame(requests, encode(["get", name]))
    requests.seek(0)
    popen_server.serve(requests, answers)
    answers.seek(0)
    found = [decode(read_frame(answers) or b"") for _ in range(2)]
    assert found[0][0] is True
    assert found[0][1].number == 1
    assert found[1] == [True, None]
    assert read_frame(answers) is None


def test_a_program_is_an_archive_that_starts_with_python() -> None:
    content = popen_server.program(b"code")
    assert content.startswith(b"#!")
    assert b"python" in content.splitlines()[0]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.read(popen_server.LIBRARY) == b"code"
        assert "popen_server" in archive.read("__main__.py").decode()
