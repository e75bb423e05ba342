"""Is a language model built right? Tests of what must hold for any weights, and whom to suspect."""

from scratchformer.diagnosis.byte_count import diagnose_bits_per_byte
from scratchformer.diagnosis.model import diagnose
from scratchformer.diagnosis.nucleus import diagnose_sampling
from scratchformer.diagnosis.report import Finding, Report
from scratchformer.diagnosis.training_step import diagnose_training

__all__ = [
    "Finding",
    "Report",
    "diagnose",
    "diagnose_bits_per_byte",
    "diagnose_sampling",
    "diagnose_training",
]
