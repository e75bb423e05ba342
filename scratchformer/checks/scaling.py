"""Checks for the exercises of chapter 13, scaling."""
