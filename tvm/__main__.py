"""`python -m tvm` is the command line."""

import sys

from tvm.exec.cli import main

if __name__ == "__main__":
    sys.exit(main())
