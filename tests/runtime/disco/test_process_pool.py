"""Worker processes."""

from __future__ import annotations

import os

import pytest

from tvm.error import TVMError
from tvm.runtime.disco.channel import PipeChannel
from tvm.runtime.disco.process_pool import DiscoPopenWorker

pytestmark = pytest.mark.cpu


def test_a_process_from_start_to_end() -> None:
    process = DiscoPopenWorker(1, 2, 1)
    read_fd, write_fd = process.start()
    with pytest.raises(TVMError, match="has been started"):
        process.start()
    channel = PipeChannel(os.fdopen(read_fd, "rb"), os.fdopen(write_fd, "wb"))
    channel.send(["global", 1, "tests.disco.add_one"])
    channel.send(["sync"])
    assert channel.receive() == ["answer", True, None]
    channel.send(["stop"])
    assert channel.receive() is None
    process.join(timeout=600)
    assert process._process is None
    process.kill()  # nothing left to end
