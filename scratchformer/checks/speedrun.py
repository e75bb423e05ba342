"""Checks for the exercises of chapter 14, speedrun."""
