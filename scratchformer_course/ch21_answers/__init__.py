"""Chapter 21, answers."""
