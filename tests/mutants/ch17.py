"""Right and plausibly wrong answers to the exercises of chapter 17."""
