"""Is a language model built right? Tests of what must hold for any weights, and whom to suspect."""

from scratchformer.diagnosis.model_tests import diagnose
from scratchformer.diagnosis.report import Finding, Report
from scratchformer.diagnosis.sampling_tests import diagnose_sampling
from scratchformer.diagnosis.training_tests import diagnose_training

__all__ = ["Finding", "Report", "diagnose", "diagnose_sampling", "diagnose_training"]
