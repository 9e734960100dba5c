"""What holds for every test: how long an example takes is no law, on a busy machine least of all."""

from hypothesis import settings

settings.register_profile("odradek", deadline=None)
settings.load_profile("odradek")
