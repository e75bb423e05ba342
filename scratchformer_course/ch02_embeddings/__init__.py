"""Chapter 02, Embeddings."""
