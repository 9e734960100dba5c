"""What every process needs to live: logs, health, signals, supervision."""
