"""Chapter 17, The speedrun."""
