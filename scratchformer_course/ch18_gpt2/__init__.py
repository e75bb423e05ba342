"""Chapter 18, GPT-2."""
