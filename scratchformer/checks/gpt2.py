"""Checks for the exercises of chapter 17, gpt2."""
