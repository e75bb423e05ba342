"""Chapter 24, inside."""
