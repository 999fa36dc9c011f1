"""Runs the command line: `.venv/bin/python -m tools.compatibility`."""

import sys

from tools.compatibility.main import main

if __name__ == "__main__":
    sys.exit(main())
