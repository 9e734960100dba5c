"""The parser service of Odradek."""
