"""The stack's files agree with each other and with the code: images, ports, limits, settings, metrics, fields."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from odradek.settings import PREFIX, Settings
from odradek.stores.events import EVENT_MAPPINGS, LOGS_DATA_STREAM
from odradek.topics import DEFAULT_PREFIX, TOPICS
from odradek.units import size_bytes
from odradek_scheduler.metrics import FIGURES

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "compose"
STACK = ("engines.yaml", "services.yaml", "observability.yaml")
MOST_MEMORY_BYTES = 8 * 1024**3
SERVICES = ("scheduler", "fetcher", "parser", "indexer", "api")


def services(*files: str) -> dict[str, dict[str, Any]]:
    """Every service of these files."""
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        found |= yaml.safe_load((COMPOSE / file).read_text())["services"]
    return found


def default(value: str) -> str:
    """What `${NAME:-default}` is when NAME is not set."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)


def test_every_image_is_pinned() -> None:
    images = {default(each["image"]) for each in services(*STACK, "production.yaml").values() if "image" in each}
    assert [image for image in images if not re.search(r":v?\d+\.\d+", image)] == []


def test_the_image_has_every_package_that_the_code_depends_on() -> None:
    """A package added to pyproject.toml is missing in the image until `make lock`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = {
        re.split(r"[\[<>=!~; ]", line)[0].lower()
        for line in (*project["dependencies"], *extras["parquet"], *extras["s3"])
    }
    locked = set(re.findall(r"^([\w.-]+)==", (COMPOSE / "requirements.lock").read_text(), re.MULTILINE))
    assert sorted(wanted - {name.lower() for name in locked}) == []


def test_the_image_loses_no_library_that_exports_and_archives_load() -> None:
    """It throws away what it takes for superfluous, to be small."""
    text = (COMPOSE / "Dockerfile").read_text()
    thrown = re.findall(r"-name '?([^\s']+)'?", text)
    code = "import pyarrow.parquet, obstore; print(open('/proc/self/maps').read())"
    said = subprocess.run((sys.executable, "-c", code), text=True, capture_output=True, check=True).stdout
    loaded = {Path(path).name for path in re.findall(r"\S*/site-packages/\S+", said)}
    assert any("parquet" in name for name in loaded)
    assert thrown
    assert [name for name in loaded if any(fnmatch(name, pattern) for pattern in thrown)] == []


def test_every_port_is_bound_to_loopback() -> None:
    ports = [port for each in services(*STACK, "ports.yaml").values() for port in each.get("ports", ())]
    assert ports
    assert [port for port in ports if not default(port).startswith("127.0.0.1:")] == []


def test_only_replicas_that_are_one_have_a_port_or_a_name() -> None:
    scaled = {name: services("services.yaml")[name] for name in ("scheduler", "fetcher", "parser", "indexer")}
    assert [name for name, each in scaled.items() if "ports" in each or "container_name" in each] == []


def test_memory_of_all_that_runs_on_is_limited_and_fits_eight_gibibytes() -> None:
    running = [each for each in services(*STACK).values() if each.get("restart") == "unless-stopped"]
    limits = [size_bytes(default(each["mem_limit"]).upper() + "iB") for each in running]
    assert len(limits) == len(SERVICES) + 6
    assert sum(limits) <= MOST_MEMORY_BYTES


def test_every_service_that_ends_is_waited_for() -> None:
    """Of others `docker compose up --wait` says that they failed."""
    found = services(*STACK)
    ending = {name for name, each in found.items() if each.get("restart") != "unless-stopped"}
    awaited = {
        name
        for each in found.values()
        for name, how in (each.get("depends_on") or {}).items()
        if how["condition"] == "service_completed_successfully"
    }
    assert ending == awaited == {"topics", "key", "kibana-objects"}


def test_every_container_has_a_health_check_or_ends() -> None:
    unchecked = {name for name, each in services(*STACK).items() if "healthcheck" not in each}
    assert unchecked == set(SERVICES)  # theirs is in the image
    assert "HEALTHCHECK" in (COMPOSE / "Dockerfile").read_text()


def test_health_checks_ask_for_no_newer_docker_than_distributions_have() -> None:
    """Docker before 25 knows no `start_interval`, and compose then starts nothing at all."""
    texts = [path.read_text() for path in (*COMPOSE.glob("*.yaml"), COMPOSE / "Dockerfile")]
    assert [text for text in texts if "start_interval" in text or "start-interval" in text] == []


def test_every_folder_that_is_a_volume_is_made_in_the_image() -> None:
    """A volume takes its owner from the image; else it is root's, and the services cannot write."""
    made = set(re.search(r"install -d .*", (COMPOSE / "Dockerfile").read_text()).group().split())  # type: ignore[union-attr]  # a failure shows it
    mounted = {
        next(part for part in volume.split(":") if part.startswith("/"))
        for name in SERVICES
        for volume in services("services.yaml")[name].get("volumes", ())
    }
    assert mounted
    assert mounted - made == set()


@pytest.mark.parametrize("name", [*SERVICES, "topics", "key", "kibana-objects"])
def test_a_container_of_ours_can_write_nothing_and_gain_nothing(name: str) -> None:
    found = services(*STACK)[name]
    assert (found["read_only"], found["cap_drop"], found["security_opt"]) == (True, ["ALL"], ["no-new-privileges:true"])


@pytest.mark.parametrize("name", ["scheduler", "parser"])
def test_a_service_that_writes_into_its_folder_has_one(name: str) -> None:
    """The rest of its file system is read-only."""
    mounted = [volume.split(":")[-1] for volume in services("services.yaml")[name]["volumes"]]
    assert mounted == ["/state"]
    assert "mountPath: /state" in (COMPOSE / "kubernetes" / f"{name}.yaml").read_text()


def test_the_doctor_looks_at_a_folder_that_the_gateway_can_write() -> None:
    """It runs in the gateway's container, whose other folders are read-only: it would call the stack ill for ever."""
    found = services("services.yaml")["api"]
    assert f"spool:{found['environment']['ODRADEK_STATE_DIR']}" in found["volumes"]
    text = (COMPOSE / "kubernetes" / "api.yaml").read_text()
    assert f"name: ODRADEK_STATE_DIR, value: {found['environment']['ODRADEK_STATE_DIR']}" in text


def test_a_fetcher_reaches_no_store() -> None:
    found = services("services.yaml")
    assert {name: found[name]["networks"] for name in ("scheduler", "fetcher", "parser")} == {
        "scheduler": ["bus"], "fetcher": ["bus"], "parser": ["bus"],
    }  # fmt: skip


def variables() -> dict[str, set[str]]:
    """Each variable of the stack's files, with the defaults that they give it."""
    found: dict[str, set[str]] = {}
    for file in sorted(COMPOSE.glob("*.yaml")):
        text = file.read_text()
        for name, fallback in re.findall(r"\$\{([A-Z_]+)(?::?[?+-]([^${}]*))?", text):
            found.setdefault(name, set()).add(fallback)
        for name in re.findall(r"^ +([A-Z_]+):$", text, re.MULTILINE):
            found.setdefault(name, set())
    return found


def test_the_example_names_every_variable_with_its_default() -> None:
    example = dict(re.findall(r"^#([A-Z_]+)=(.*)$", (COMPOSE / "example.env").read_text(), re.MULTILINE))
    found = variables()
    of_stack = {name: each - {""} for name, each in found.items() if not name.startswith(PREFIX)}
    assert sorted(example) == sorted(found)
    assert {name: each for name, each in of_stack.items() if each - {example[name]}} == {}


def settings_named() -> Iterator[tuple[str, str]]:
    """(file, variable) of every ODRADEK_… that a container is given."""
    for file in ("services.yaml", "production.yaml"):
        for each in services(file).values():
            yield from ((file, name) for name in each.get("environment", {}) if name.startswith(PREFIX))
    for file in (COMPOSE / "kubernetes").glob("*.yaml"):
        yield from ((file.name, name) for name in re.findall(r"ODRADEK_[A-Z_]+(?=[=,}])", file.read_text()))
    yield from (("Dockerfile", name) for name in re.findall(r"ODRADEK_[A-Z_]+", (COMPOSE / "Dockerfile").read_text()))


def test_every_variable_given_to_a_container_is_a_setting() -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    given = set(settings_named())
    assert len(given) > len(SERVICES)
    assert sorted(pair for pair in given if pair[1] not in known) == []


def metrics_of_the_code() -> set[str]:
    """Names of metrics as they are written in the code, without the suffixes that Prometheus' client adds."""
    text = "".join(path.read_text() for folder in ("shared", "services") for path in (ROOT / folder).rglob("*.py"))
    return set(re.findall(r'"(odradek_[a-z_]+)"', text)) | {gauge._name for gauge in FIGURES.values()}


def metrics_asked_for() -> Iterator[tuple[str, str]]:
    """(file, metric) in alerts and dashboards."""
    files = [COMPOSE / "prometheus" / "alerts.yml", *sorted((COMPOSE / "grafana" / "dashboards").glob("*.json"))]
    for file in files:
        yield from ((file.name, name) for name in re.findall(r"\bodradek_[a-z_]+", file.read_text()))


def test_every_metric_asked_for_exists() -> None:
    known, asked = metrics_of_the_code(), set(metrics_asked_for())
    assert len(asked) > len(SERVICES)
    assert sorted(pair for pair in asked if re.sub(r"_(total|bucket|sum|count)$", "", pair[1]) not in known) == []


def module(file: str) -> ModuleType:
    """A script beside the stack's files."""
    spec = spec_from_file_location(Path(file).stem, COMPOSE / file)
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_dashboards_are_fresh(tmp_path: Path) -> None:
    module("grafana/draw.py").write(tmp_path)
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert drawn == {path.name: path.read_text() for path in (COMPOSE / "grafana" / "dashboards").iterdir()}


def test_kibanas_objects_refer_to_each_other_and_to_fields_that_exist() -> None:
    found = list(module("kibana/objects.py").objects())
    names = {(each["type"], each["id"]) for each in found}
    references = {(each["type"], each["id"]) for one in found for each in one["references"]}
    fields = set(re.findall(r'\\*"sourceField\\*": ?\\*"([\w.@]+)', json.dumps(found))) - {"___records___"}
    fields |= {column for each in found if each["type"] == "search" for column in each["attributes"]["columns"]}
    asked = " ".join(re.findall(r'"query": "([^"]*)"', json.dumps(found).replace("\\", "")))
    fields |= set(re.findall(r"([a-z_]+(?:\.[a-z_]+)+) ?(?::|>=)", asked))
    view = next(each["attributes"]["title"] for each in found if each["type"] == "index-pattern")
    assert (references - names, fields - _fields(EVENT_MAPPINGS)) == (set(), set())
    assert re.fullmatch(view.replace("*", ".*"), LOGS_DATA_STREAM)


def _fields(mapping: dict[str, Any], prefix: str = "") -> set[str]:
    found = set()
    for name, each in mapping.get("properties", {}).items():
        found |= _fields(each, f"{prefix}{name}.") or {f"{prefix}{name}"}
    return found


def test_kubernetes_scales_on_groups_and_topics_that_exist() -> None:
    text = (COMPOSE / "kubernetes" / "scaling.yaml").read_text()
    asked = {topic.removeprefix(DEFAULT_PREFIX) for topic in re.findall(r"topic: (\S+)", text)}
    assert asked == {"scheduled", "pages", "items", "logs"}
    assert asked <= set(TOPICS)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian: prometheus)")
def test_the_alerts_hold_their_own_tests() -> None:
    promtool = [str(shutil.which("promtool")), "test", "rules", COMPOSE / "prometheus" / "alerts.test.yml"]
    done = subprocess.run(promtool, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test_and_a_section_in_the_manual() -> None:
    rules = yaml.safe_load((COMPOSE / "prometheus" / "alerts.yml").read_text())["groups"][0]["rules"]
    tests = (COMPOSE / "prometheus" / "alerts.test.yml").read_text()
    manual = (ROOT / "docs" / "operations.md").read_text()
    names = [rule["alert"] for rule in rules]
    assert [name for name in names if f"alertname: {name}\n" not in tests or f"### {name}" not in manual] == []
