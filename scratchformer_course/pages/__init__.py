"""What pages that are no chapters show: drawings, and the film that opens the course."""
