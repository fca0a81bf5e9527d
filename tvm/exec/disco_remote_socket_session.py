"""Give workers of this machine to a session of another one.

    python -m tvm.exec.disco_remote_socket_session HOST PORT WORKERS
"""

from __future__ import annotations

import importlib
import sys

from tvm.runtime.disco.session import join_session


def main() -> None:
    """Join, and work until the session ends."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    # the functions to try a session out with, as in worker processes
    importlib.import_module("tvm.exec.disco_worker")
    join_session(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))


if __name__ == "__main__":
    main()
