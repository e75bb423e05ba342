"""For those who teach with the course: grading, hints, and what both read from the tables."""
