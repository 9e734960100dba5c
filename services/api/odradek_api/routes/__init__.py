"""The routes of `/v1`, a module for each thing they speak of."""
