"""Chapter 20, inference."""
