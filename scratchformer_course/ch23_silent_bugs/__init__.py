"""Chapter 23, silent bugs."""
