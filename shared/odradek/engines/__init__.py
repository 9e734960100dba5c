"""Engines for one laptop: Apache Kafka, a search engine and a document store, from packages alone."""
