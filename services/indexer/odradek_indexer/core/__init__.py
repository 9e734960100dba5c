"""Decisions of the indexer: pure, without clock, randomness or I/O."""
