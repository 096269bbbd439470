"""junit.xml: a test case per arm and expectation, for a CI system to show. Pure: values in, text out."""

import re
from xml.etree import ElementTree as ET

from lab.reporter.arm import ArmReport
from lab.reporter.verdict import Check

# What XML 1.0 cannot hold, not even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(arms: tuple[ArmReport, ...]) -> str:
    """One test case per arm and expectation; a void arm's are errors, one even where nothing is expected of it.

    An expectation that is contradicted by a verdict too close to call is skipped.
    """
    suite = ET.Element("testsuite", name=_xml_text(arms[0].header.scenario_name))
    for arm in arms:
        checks = arm.judgement.checks or ((Check("the arm counts", None, ""),) if arm.void else ())
        for check in checks:
            _case(suite, arm, check)
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    suite.set("errors", str(sum(case.find("error") is not None for case in cases)))
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=False) + "\n"


def _case(suite: ET.Element, arm: ArmReport, check: Check) -> None:
    classname = _xml_text(f"{arm.header.scenario_name}.{arm.name}")
    case = ET.SubElement(suite, "testcase", classname=classname, name=_xml_text(check.name))
    if arm.void:
        ET.SubElement(case, "error", message="void").text = _xml_text("\n".join(arm.void_reasons))
    elif check.too_close and not check.met:
        # Neither passed nor failed: other chance could have turned it.
        ET.SubElement(case, "skipped", message=_xml_text(f"too close to call: {check.sentence}"))
    elif check.too_close:
        ET.SubElement(case, "system-out").text = _xml_text(f"too close to call: {check.sentence}")
    elif not check.met:
        ET.SubElement(case, "failure", message=_xml_text(check.sentence)).text = _xml_text(check.sentence)


def _xml_text(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
