"""The fetcher service of Odradek."""
