"""Chapter 09, The block."""
