"""Chapter 22, answers."""
