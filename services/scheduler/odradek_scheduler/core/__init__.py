"""Decisions of the scheduler: pure, without clock, randomness or I/O."""
