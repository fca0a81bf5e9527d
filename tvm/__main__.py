"""`python -m tvm` is the command line."""

import sys

from tvm.exec.cli import process

if __name__ == "__main__":
    sys.exit(process())
