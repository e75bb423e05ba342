"""Chapter 10, From bigram to GPT."""
