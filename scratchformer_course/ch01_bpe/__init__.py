"""Chapter 01, Byte-pair encoding."""
