"""From a declared fault to its injector, and to its name in this drill."""

from lab.contract.fault_spec import (
    AnyFault,
    LatencyFault,
    ModelFault,
    NoopFault,
    PolicyFault,
    ProcessFault,
    ProxyDownFault,
    RouteFault,
)
from lab.drill.faults import Injector, Target
from lab.drill.faults.acting import Acting
from lab.drill.faults.latency import LatencyInjector
from lab.drill.faults.model import ModelInjector
from lab.drill.faults.noop import NoopInjector
from lab.drill.faults.policy import PolicyInjector
from lab.drill.faults.process import ProcessInjector
from lab.drill.faults.proxy_down import ProxyDownInjector
from lab.drill.faults.route import RouteInjector
from lab.drill.faults.toxic import ToxicInjector
from lab.drill.probes import StackProbe


def fault_name(fault: AnyFault, number: int) -> str:
    """Such as `1-latency`, numbered from 1 in the order declared."""
    return f"{number}-{fault.kind}"


def make_injector(
    fault: AnyFault, number: int, stack: Target, probe: StackProbe, acting: Acting | None = None
) -> Injector:
    """The injector of one declared fault; `acting` is shared by the faults of a stack."""
    name = fault_name(fault, number)
    injector: Injector
    match fault:
        case NoopFault():
            injector = NoopInjector(name, stack, probe)
        case ModelFault():
            injector = ModelInjector(name, fault, stack, probe, acting)
        case ProcessFault():
            injector = ProcessInjector(name, fault, stack, probe, acting)
        case PolicyFault():
            injector = PolicyInjector(name, fault, stack, probe, acting)
        case RouteFault():
            injector = RouteInjector(name, fault, stack, probe, acting)
        case ProxyDownFault():
            injector = ProxyDownInjector(name, fault, stack, probe, acting)
        case LatencyFault():
            injector = LatencyInjector(name, fault, stack, probe, acting)
        case _:
            injector = ToxicInjector(name, fault, stack, probe, acting)
    return injector
