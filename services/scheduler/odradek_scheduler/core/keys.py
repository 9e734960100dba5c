"""What values are called in the tables: words joined by a zero byte, so that a prefix finds all of a run or a host."""


def run_id(job: str, run: int) -> str:
    """A job and run as one word."""
    return f"{job}\0{run}"


def split_run_id(job_run: str) -> tuple[str, int]:
    """Job and run of such a word."""
    job, _, run = job_run.rpartition("\0")
    return job, int(run)


def seen_key(job_run: str, fp: str) -> bytes:
    """Key in `seen`."""
    return f"{job_run}\0{fp}".encode()


def page_key(job_run: str, key: str, priority: int, offset: int) -> bytes:
    """Key in `backlog`: job, run, host, priority (higher first), batch offset."""
    return f"{job_run}\0{key}\0{100 - priority:03d}\0{offset:016x}".encode()


def split_page_key(key: bytes) -> tuple[str, str, int, int]:
    """(job and run, host, priority, batch offset) of a backlog key."""
    job, run, host, priority, offset = key.decode().rsplit("\0", 4)
    return f"{job}\0{run}", host, 100 - int(priority), int(offset, 16)


def host_key(key: str) -> bytes:
    """Key in `hosts` of a politeness key."""
    return key.encode()


def robots_key(key: str, origin: str) -> bytes:
    """Key in `hosts` of one origin's robots.txt."""
    return f"{key}\0{origin}".encode()


def ledger_key(job_run: str) -> bytes:
    """Key in `ledger` of a job's ledger."""
    return f"L\0{job_run}".encode()


def job_key(job: str) -> bytes:
    """Key in `ledger` of a job's specification."""
    return f"J\0{job}".encode()


def share_key(job_run: str, key: str) -> bytes:
    """Key in `ledger` of a host's share of a job and run."""
    return f"K\0{job_run}\0{key}".encode()


def home_key(job_run: str) -> bytes:
    """Key in `ledger` of the home partition's record on permits."""
    return f"H\0{job_run}".encode()
