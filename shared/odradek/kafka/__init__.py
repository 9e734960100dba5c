"""Kafka for every service: one runner, which sends, waits for acknowledgement, and commits."""
