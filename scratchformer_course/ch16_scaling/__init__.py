"""Chapter 16, A law for the loss."""
