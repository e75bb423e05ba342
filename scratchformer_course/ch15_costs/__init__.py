"""Chapter 15, What a token costs."""
