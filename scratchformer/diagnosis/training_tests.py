"""x"""


def diagnose_training(): ...
