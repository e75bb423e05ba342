"""The appendix of chapter 25: all thirty patients, drawn."""
