"""From journals to the report: what each arm did, how sure that is, and how it reads.

Knows journals and the scenario they were played from. Must not know who wrote them: no workload,
policy, drill or service.
"""
