"""Chapter 26, From an empty file. Its code is in `blank`."""
