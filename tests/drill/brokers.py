"""Three brokers with replication on this machine: each a process of its own, all of them voters."""

from pathlib import Path

from odradek.engines.engine import LOOPBACK, Engine, free_port
from odradek.engines.kafka import kafka_engine

REPLICAS, IN_SYNC = 3, 2


def broker_engines(folder: Path, count: int) -> dict[str, Engine]:
    """Engines `kafka-1` and so on of one new cluster; a record is acknowledged once two brokers have it."""
    names = [f"kafka-{node}" for node in range(1, count + 1)]
    engines = {name: kafka_engine(folder / name) for name in names}
    ports = {name: free_port() for name in names}
    voters = ",".join(f"{node}@{LOOPBACK}:{ports[name]}" for node, name in enumerate(names, 1))
    cluster = _read(folder / names[0] / "data" / "meta.properties")["cluster.id"]
    for node, (name, engine) in enumerate(engines.items(), 1):
        controller = f"CONTROLLER://{LOOPBACK}:{ports[name]}"
        _change(folder / name / "data" / "meta.properties", {"node.id": str(node), "cluster.id": cluster})
        _change(
            folder / name / "server.properties",
            {
                "node.id": str(node),
                "controller.quorum.voters": voters,
                "listeners": f"PLAINTEXT://{engine.address},{controller}",
                "min.insync.replicas": str(IN_SYNC),
                "transaction.state.log.min.isr": str(IN_SYNC),
                "share.coordinator.state.topic.min.isr": str(IN_SYNC),
                "default.replication.factor": str(REPLICAS),
                "offsets.topic.replication.factor": str(REPLICAS),
                "transaction.state.log.replication.factor": str(REPLICAS),
                "share.coordinator.state.topic.replication.factor": str(REPLICAS),
            },
        )
    return {
        name: Engine(name, engine.command, engine.address, engine.ready, engine.env) for name, engine in engines.items()
    }


def _read(path: Path) -> dict[str, str]:
    lines = [line.partition("=") for line in path.read_text().splitlines() if "=" in line and not line.startswith("#")]
    return {name: value for name, _, value in lines}


def _change(path: Path, values: dict[str, str]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in (_read(path) | values).items()))
