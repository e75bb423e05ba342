"""Thirty faults that raise no error and let the loss fall, each beside its healthy twin.

A patient is a healthy program in which one part is replaced. It knows the invariant that would
have found the fault, and a public thread in which others have met it, or a near relation of it.
"""

from scratchformer_course.ch23_silent_bugs.model_patients import ATTENTION, CACHE_AND_BLOCK
from scratchformer_course.ch23_silent_bugs.program_patients import FILE_AND_WRITING, TEXT, TRAINING

ALL = [*ATTENTION, *CACHE_AND_BLOCK, *TEXT, *TRAINING, *FILE_AND_WRITING]
PATIENTS = {patient.name: patient for patient in ALL}
