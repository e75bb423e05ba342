"""Chapter 22, inside."""
