"""What holds for every test: an example may take as long as it likes, and the same tests have the same examples."""

from hypothesis import settings

settings.register_profile("odradek", deadline=None, derandomize=True)
settings.load_profile("odradek")
