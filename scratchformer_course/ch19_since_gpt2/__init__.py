"""Chapter 19, since GPT-2."""
