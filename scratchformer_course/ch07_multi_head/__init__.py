"""Chapter 07, Multi-head attention."""
