"""Decisions of the parser: pure, without clock, randomness or I/O."""
