"""Chapter 08, Rotary positions."""
