"""Warnings of an API server reach the user of vcctl, each once."""

import pytest

from vcray.cli.warnings import WarningTransport, texts
from vcray.kube.transport import Response


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ('299 - "v1 is deprecated"', ["v1 is deprecated"]),
        ('299 - "one", 299 - "two, and more"', ["one", "two, and more"]),
        (r'299 - "say \"no\" to C:\\"', ['say "no" to C:\\']),
        ('299 kube-apiserver "x" "Mon, 01 Jan 2024 00:00:00 GMT"', ["x"]),
        ("", []),
    ],
)
def test_all_texts_of_a_header_are_found(header, said):
    assert list(texts(header)) == said


class Deprecating:
    address = "here"

    async def request(self, *_):
        return Response(200, b"{}", {"warning": '299 - "unknown field \\"spec.tsks\\""'})


async def test_a_warning_is_told_once_on_standard_error(capsys):
    transport = WarningTransport(Deprecating())

    for _ in range(2):
        await transport.request("GET", "/")

    assert capsys.readouterr() == ("", 'Warning: unknown field "spec.tsks"\n')
