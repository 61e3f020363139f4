"""Kubernetes' functions of the expression language, checked and evaluated."""

from __future__ import annotations

import pytest

from vcray.cel.program import Checker, CompileError, EvaluationError, compiled

HOLDS = [
    "[1, 2, 2].isSorted() && !['b', 'a'].isSorted()",
    "[1, 2].sum() == 3 && [1.5].sum() == 1.5 && [].sum() == 0",
    "[3, 1].max() == 3 && ['b', 'a'].min() == 'a'",
    "['a', 'b', 'a'].indexOf('a') == 0 && ['a', 'b', 'a'].lastIndexOf('a') == 2 && [1].indexOf(2) == -1",
    "'hello'.charAt(1) == 'e' && 'a-b'.split('-') == ['a', 'b'] && ['a', 'b'].join('+') == 'a+b'",
    "'AbC'.lowerAscii() == 'abc' && 'x'.upperAscii() == 'X' && ' y '.trim() == 'y'",
    "'aXbX'.replace('X', '') == 'ab' && 'hello'.substring(1, 3) == 'el' && '%d%s'.format([1, 'a']) == '1a'",
    "'abc 123 4'.find('[0-9]+') == '123' && 'abc 123 4'.findAll('[0-9]+') == ['123', '4']",
    "'1 2 3'.findAll('[0-9]', 2) == ['1', '2'] && 'abc'.find('x') == ''",
    "url('https://u@h.io:80/p%20q?a=1&a=2').getHost() == 'h.io:80' && isURL('https://h') && !isURL('h')",
    "url('https://h.io:80/p?a=1&a=2').getQuery()['a'] == ['1', '2'] && url('https://h:80').getPort() == '80'",
    "url('https://[::1]:80/').getHostname() == '::1' && url('/p').getEscapedPath() == '/p'",
    "ip('127.0.0.1').isLoopback() && ip('::1').family() == 6 && isIP('1.2.3.4') && !isIP('1.2.3')",
    "ip('10.0.0.1').isGlobalUnicast() && string(ip('1.2.3.4')) == '1.2.3.4' && ip.isCanonical('::1')",
    "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
    "cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && cidr('10.0.0.0/8').prefixLength() == 8 && isCIDR('::/0')",
    "quantity('1000m') == quantity('1') && quantity('1Gi').isGreaterThan(quantity('1G'))",
    "quantity('50k').add(20).sub(quantity('20')) == quantity('50000') && quantity('-1').sign() == -1",
    "quantity('5k').asInteger() == 5000 && quantity('1.5').asApproximateFloat() == 1.5 && isQuantity('1Gi')",
    "quantity('1').compareTo(quantity('2')) == -1 && !quantity('1m').isInteger() && !isQuantity('1 G')",
    "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
    "semver('v1.2', true).minor() == 2 && !isSemver('v1.2') && isSemver('1.2.3+meta')",
    "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A_B').hasValue()",
    "format.named('uuid').hasValue() && !format.named('none').hasValue()",
    "sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])",
    "math.greatest(1, 2) == 2 && base64.encode(b'a') == 'YQ=='",
    "{'a': 1}.?b.orValue(2) == 2 && optional.of(1).hasValue() && [1][?3].orValue(0) == 0",
    "cel.bind(x, 3, x * x == 9) && jsonpatch.escapeKey('a/b~c') == 'a~1b~0c'",
    "duration('90m') > duration('1h') && timestamp('2024-01-02T00:00:00Z').getMonth() == 0",
    "authorizer.group('apps').resource('deployments').namespace('x').check('create').allowed()",
    "{'a': 1, 'b': 2}.all(k, v, v > 0 && k != 'c') && !{'a': 1}.exists(k, v, v > 1)",
    "[3, 4].transformList(i, v, v + i) == [3, 5] && [3, 4].transformList(i, v, i > 0, v) == [4]",
    "[[1, 2], [3]].all(i, row, row.all(j, cell, cell > i + j - 1)) && [5].existsOne(i, v, v == 5 && i == 0)",
    "Object{spec: Object.spec{replicas: 1, __namespace__: 'x'}} == {'spec': {'replicas': 1, 'namespace': 'x'}}",
    "[JSONPatch{op: 'add', path: '/a', value: Object.b{c: 1}}] == [{'op': 'add', 'path': '/a', 'value': {'c': 1}}]",
]


@pytest.mark.parametrize("expression", HOLDS)
def test_expressions_hold(expression: str) -> None:
    assert compiled(expression, ("authorizer",)).evaluate({"authorizer": ""}) is True


@pytest.mark.parametrize("expression", HOLDS)
def test_expressions_pass_the_checker(expression: str) -> None:
    assert Checker({"authorizer": "Authorizer"}).check(expression).result == "BOOL"


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("1 > 'a'", "found no matching overload for '_>_' applied to '(int, string)'"),
        ("quantity('1') == 'x'", "found no matching overload for '_==_'"),
        ("nothing.here", "undeclared reference to 'nothing' (in container '')"),
        ("[1].all(", "Syntax error"),
    ],
)
def test_the_checker_says_what_is_wrong(expression: str, told: str) -> None:
    with pytest.raises(CompileError, match="ERROR: <input>:1:") as caught:
        Checker({}).check(expression)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("self.a == 1", "no such key: a"),
        ("[1][2] == 1", "index out of bounds: 2"),
        ("1 / self.zero == 1", "division by zero"),
        ("self.zero.x == 1", "no such overload"),
    ],
)
def test_evaluation_errors_are_told_in_the_words_of_the_server(expression: str, told: str) -> None:
    with pytest.raises(EvaluationError, match=told):
        compiled(expression, ("self",)).evaluate({"self": {"zero": 0}})
