"""Chapter 05, Averaging the past."""
