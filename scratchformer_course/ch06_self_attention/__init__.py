"""Chapter 06, Self-attention."""
