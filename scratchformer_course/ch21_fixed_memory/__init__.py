"""Chapter 21, A memory of fixed size."""
