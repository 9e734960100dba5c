"""An Elasticsearch image built from Maven's jars alone has no native libraries, and cannot open an index that is
compressed best, as that of crawl events is. It borrows zstd from this machine; its vector library is an empty one."""

import json
import platform
import subprocess
from pathlib import Path

HOME = "/usr/share/elasticsearch/lib/platform"
KINDS = {"x86_64": "linux-x64", "aarch64": "linux-aarch64", "arm64": "linux-aarch64"}
NO_VECTORS = "int vec_caps(void) { return 0; }"


def overlay_with_natives(folder: Path) -> Path:
    """A file for `docker compose -f` that mounts both, made in this folder; needs a C compiler and libzstd."""
    there = folder / KINDS[platform.machine()]
    there.mkdir(parents=True)
    found = next(Path("/usr").glob("lib*/**/libzstd.so.1"))
    (there / "libzstd.so").write_bytes(found.read_bytes())
    (there / "vec.c").write_text(NO_VECTORS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", there / "libvec.so", there / "vec.c"], check=True)
    overlay = folder / "natives.yaml"  # JSON is YAML
    overlay.write_text(json.dumps({"services": {"elasticsearch": {"volumes": [f"{folder}:{HOME}:ro"]}}}))
    return overlay
