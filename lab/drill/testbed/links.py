"""Which links of a stack go through the proxy."""

from lab.contract.fault_spec import AnyToxic, ProxyDownFault
from lab.contract.scenario import Scenario


def proxies_redis(scenario: Scenario) -> bool:
    """Whether workers reach Redis through the proxy: only where a fault is declared on that link."""
    return any(isinstance(fault, AnyToxic | ProxyDownFault) and fault.link == "redis" for fault in scenario.faults)
