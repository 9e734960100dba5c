"""Two fates of trouble; a message beyond help is a value (`Poison`), anything else is a bug and crashes.

UserError           a person did something wrong: one sentence, exit code 2 or 1
InfrastructureAway  an engine does not answer: nothing is committed, back off, try again
"""


class UserError(Exception):
    """What a person did wrong, as one sentence that names the thing and the way out."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        """2: wrong use; 1: the machine refused (a full disk, a port in use)."""


class InfrastructureAway(Exception):  # noqa: N818  (a state of the world, not an error of ours)
    """Kafka, MongoDB or Elasticsearch cannot be reached or refuses for now; the work is tried again."""
