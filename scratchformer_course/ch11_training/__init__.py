"""Chapter 11, Training well."""
