"""XML in bodies, looked for by a part of XPath."""

from __future__ import annotations

import time

import pytest
from tests.unit.console.test_filters import message

from openmsmq.console.bodies.contents import ContentError
from openmsmq.console.bodies.xpaths import matches_xpath
from openmsmq.console.filters import FilterError, parse_filter

ORDER = """<?xml version="1.0"?>
<o:order xmlns:o="urn:x" no="4711"><customer><name>ACME</name><vip/></customer>
<line sku="a"><price>5</price></line><line sku="b"><price>100.5</price></line>
<note lang="de">eilig</note></o:order>"""


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/order", True),
        ("/customer", False),
        ("//order[@no>100]", True),
        ("//order[@no>5000]", False),
        ("//order[@no=4711]", True),
        ("//order[@no!=4711]", False),
        ("/order/@no==4711", True),
        ("/order/@no>=4712", False),
        ("//@sku", True),
        ("//@missing", False),
        ("//*/@lang=de", True),
        ("/order/customer/name=='ACME'", True),
        ('/order/customer/name=="Other"', False),
        ("//name=ACME", True),
        ("/order//price>100", True),
        ("/order//price>101", False),
        ("//line[2]/@sku=b", True),
        ("//line[1]/@sku=b", False),
        ("//line[3]", False),
        ("//line[0]", False),
        ("//line[price>100][@sku='b']", True),
        ("//line[price>100][@sku='a']", False),
        ("//customer[vip]", True),
        ("//customer[missing]", False),
        ("/*/note=eilig", True),
        ("//note>5", False),
    ],
)
def test_a_path_finds_what_is_there(path: str, found: bool) -> None:
    test = matches_xpath(path)
    assert test(message(ORDER.encode())) is found
    assert test(message(ORDER.encode("utf-16-le"))) is found


def test_what_is_no_xml_is_not_found() -> None:
    test = matches_xpath("//*")
    for body in (b"", b"order", b"<order>", b'{"order": 1}', b"<!DOCTYPE a><a/>", bytes(300)):
        assert not test(message(body))


@pytest.mark.parametrize(
    "path", ["order", "", "/", "//", "//order[", "//order[@]", "//a[1", "//a>x", "//a b", "/a" * 21]
)
def test_what_is_no_path_is_said_so(path: str) -> None:
    with pytest.raises((ContentError, FilterError)):
        parse_filter(f'xpath:"{path}"')


def test_no_path_takes_long() -> None:
    """Each step looks at each node once, however many ways lead there."""
    deep = "<a>" * 60 + "<b/>" * 3000 + "</a>" * 60
    test = matches_xpath("//a" * 19 + "//c")
    began = time.process_time()
    assert not test(message(deep.encode()))
    assert time.process_time() - began < 20  # the ways there are 60 over 19


def test_it_is_a_filter() -> None:
    wanted = parse_filter("xpath://order[@no>100]")
    assert wanted.reads_bodies
    assert wanted.matches(message(ORDER.encode()))
