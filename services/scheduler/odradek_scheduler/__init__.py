"""The scheduler service of Odradek."""
