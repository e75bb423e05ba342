"""Chapter 14, Encoder–decoder."""
