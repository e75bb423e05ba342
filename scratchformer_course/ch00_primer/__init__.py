"""Chapter 00, Primer."""
