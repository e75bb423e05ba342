"""Chapter 12, Generation."""
