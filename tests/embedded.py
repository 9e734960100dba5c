"""Apache Kafka by itself, for tests and benches that bring everything else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from odradek.engines.kafka import kafka_engine
from odradek.runtime.supervisor import Supervisor


@asynccontextmanager
async def kafka(folder: Path) -> AsyncIterator[str]:
    """Its address, HOST:PORT; data and logs lie in the folder, and it is stopped in any case."""
    engine = kafka_engine(folder / "kafka")
    supervisor = Supervisor(folder / "logs")
    await supervisor.start(engine.child())
    try:
        yield engine.address
    finally:
        await supervisor.stop()
