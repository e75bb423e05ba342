"""Drawings of the pages that are no chapters."""
