"""The indexer service of Odradek."""
