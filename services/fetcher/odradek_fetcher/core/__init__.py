"""Decisions of the fetcher: pure, without clock, randomness or I/O."""
