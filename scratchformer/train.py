"""`python -m scratchformer.train --config …`: `scratchformer train`, as a module for torchrun.

torchrun --nproc-per-node 2 -m scratchformer.train --config configs/shakespeare-small.toml
"""

import sys

from scratchformer.cli import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
