"""The chapter has no exercises: it is one, and its checks are the rungs of `blank`."""
