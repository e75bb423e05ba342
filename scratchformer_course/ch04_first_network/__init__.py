"""Chapter 04, A first network."""
