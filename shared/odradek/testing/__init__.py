"""The test kit: a site to crawl, a broker in the process, builders of records."""
