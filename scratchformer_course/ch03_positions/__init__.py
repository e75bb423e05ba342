"""Chapter 03, Positions."""
