"""Chapter 13, BERT."""
