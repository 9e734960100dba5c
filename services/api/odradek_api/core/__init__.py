"""Decisions of the api: pure, without clock, randomness or I/O."""
