"""An executable model around the real core: logs, crashes at any write, lost and late messages, and an oracle."""
