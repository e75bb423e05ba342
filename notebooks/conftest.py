"""Outputs are compared as they are stored: live figures without their scripts and weights."""

import os

os.environ.setdefault("SCRATCHFORMER_LIVE", "stored")
