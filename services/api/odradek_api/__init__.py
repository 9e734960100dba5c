"""The api service of Odradek."""
