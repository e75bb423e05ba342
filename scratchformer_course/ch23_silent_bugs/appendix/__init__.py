"""The appendix of chapter 23: all thirty patients, drawn."""
