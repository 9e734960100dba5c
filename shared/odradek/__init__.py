"""The promise: every URL is accounted for."""
