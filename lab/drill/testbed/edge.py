"""The edge of a stack that has one: nginx by deploy/nginx.conf, whose route a file switches.

    loadgen --> edge --> gate --> redis        as a rule
                     `-> enqueue --^           past the gate, as long as the file is there

On the local testbed it is the machine's own nginx, where one is on PATH; else the load goes straight to the enqueue
endpoint, and no route can be switched.
"""

from pathlib import Path

from lab.contract.names import Route
from lab.drill.testbed import StackError
from lab.drill.testbed.ports import LOOPBACK, Ports

CONFIG_FILE = Path(__file__).parents[3] / "deploy" / "nginx.conf"
CONFIG_NAME = "nginx.conf"
BYPASS_NAME = "bypass"
BYPASS_FILE = f"/tmp/{BYPASS_NAME}"  # noqa: S108 - of a container of its own
# One process, which unlike a master leaves its environment, where the owner's mark stands, as it is.
LOCAL_FLAGS = ("-e", "stderr", "-p", "./", "-c", CONFIG_NAME, "-g", "master_process off;")


def route_command(route: Route) -> tuple[str, ...]:
    """The command that switches the route, inside the edge's container."""
    return ("touch", BYPASS_FILE) if route == "bypass" else ("rm", "-f", BYPASS_FILE)


def local_config(text: str, ports: Ports) -> str:
    """The same configuration on this machine's ports, with its files in the folder that it is started in.

    Raises:
        StackError: an address that is to be replaced does not stand in it.
    """
    places = {
        "/tmp/": "./",  # noqa: S108 - as it stands in the container's configuration
        "listen 0.0.0.0:8088;": f"listen {LOOPBACK}:{ports.edge};",
        "gate gate:8080;": f"gate {LOOPBACK}:{ports.gate};",
        "bypass enqueue:8081;": f"bypass {LOOPBACK}:{ports.enqueue};",
    }
    for there, here in places.items():
        if there not in text:
            raise StackError(f"deploy/nginx.conf no longer holds {there!r}, which the local testbed puts its own for")
        text = text.replace(there, here)
    return text


def write_local_config(folder: Path, ports: Ports) -> None:
    """Makes the folder that the local edge is started in."""
    folder.mkdir(exist_ok=True)
    text = local_config(CONFIG_FILE.read_text(encoding="utf-8"), ports)
    (folder / CONFIG_NAME).write_text(text, encoding="utf-8")


def switch_local(folder: Path, route: Route) -> None:
    """Switches the route of the edge that was started in `folder`."""
    if route == "bypass":
        (folder / BYPASS_NAME).touch()
    else:
        (folder / BYPASS_NAME).unlink(missing_ok=True)
