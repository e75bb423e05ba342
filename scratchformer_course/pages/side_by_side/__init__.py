"""The page *The models of today*: a census, two models side by side, and the work of experts."""
