"""Chapter 23, thinking: five cups, models that write before they answer, and rewards."""
