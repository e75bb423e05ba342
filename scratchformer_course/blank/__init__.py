"""The empty file: five files to be written alone, and the ladder that checks them."""
