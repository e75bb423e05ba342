"""Chapter 25, silent bugs."""
