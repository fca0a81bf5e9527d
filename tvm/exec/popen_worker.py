"""The other end of a PopenWorker, under the name by which programs start it.

    python -m tvm.exec.popen_worker READ_FD WRITE_FD
"""

from __future__ import annotations

from tvm.contrib.popen_worker import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
