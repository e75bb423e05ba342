"""`python -m scratchformer`, for where the command is not on the path."""

import sys

from scratchformer.cli import main

if __name__ == "__main__":
    sys.exit(main())
