"""What the parser decides: bytes to text, text to links and records; no I/O."""
