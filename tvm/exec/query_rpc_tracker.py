"""Show the servers of a tracker, and who waits for them.

    python -m tvm.exec.query_rpc_tracker --host=HOST --port=PORT

Without options the environment variables TVM_TRACKER_HOST and TVM_TRACKER_PORT tell the tracker.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tvm.rpc.client import connect_tracker


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    name = "python -m tvm.exec.query_rpc_tracker"
    found = argparse.ArgumentParser(prog=name, description=__doc__)
    found.add_argument("--host", default=os.environ.get("TVM_TRACKER_HOST", "127.0.0.1"))
    found.add_argument(
        "--port", type=int, default=int(os.environ.get("TVM_TRACKER_PORT", "9190"))
    )
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the summary."""
    args = parser().parse_args(arguments)
    try:
        session = connect_tracker(args.host, args.port)
        print(f"Tracker address {args.host}:{args.port}\n")
        print(session.text_summary())
    except (OSError, RuntimeError) as err:
        sys.exit(f"no tracker at {args.host}:{args.port}: {err}")


if __name__ == "__main__":
    main()
