"""Chapter 15, What a model costs."""
