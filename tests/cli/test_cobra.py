"""The command-line grammar: what counts as a flag, a value, a word, and what is said when it is wrong."""

import pytest

from vcray.cli.cobra import Command, Flag, UsageError, help_text, parse

LIST = Command(
    "list",
    "list things",
    flags=(
        Flag("all", "everything", "bool", "a", False),
        Flag("count", "how many", "int32", "c", 3),
        Flag("name", "which", short="n"),
    ),
    run="somewhere:list_things",
)
ROOT = Command(
    "tool",
    flags=(Flag("flush", "how often", "duration"), Flag("v", "loudness", "Level", "v")),
    children=(Command("thing", "things", children=(LIST,)),),
)


@pytest.mark.parametrize(
    ("arguments", "name", "count", "everything"),
    [
        (["--name", "x"], "x", 3, False),
        (["--name=x", "-c", "5"], "x", 5, False),
        (["-nx", "-c=0x10"], "x", 16, False),
        (["-an", "x"], "x", 3, True),
        (["--all=false", "-c7", "--name="], "", 7, False),
        (["--all", "--", "--name", "x"], "", 3, True),
    ],
)
def test_flags_are_read_in_all_of_their_spellings(arguments, name, count, everything):
    call = parse(ROOT, ["thing", "list", *arguments])

    assert (call.flags["name"], call.flags["count"], call.flags["all"]) == (name, count, everything)


def test_flags_of_the_root_hold_before_and_behind_the_command():
    before = parse(ROOT, ["-v", "4", "thing", "list"])
    behind = parse(ROOT, ["thing", "list", "--v=4"])

    assert before.flags["v"] == behind.flags["v"] == 4
    assert before.command is LIST


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["think"], 'unknown command "think" for "tool"'),
        (["thing", "list", "--nam", "x"], "unknown flag: --nam"),
        (["thing", "list", "-x"], "unknown shorthand flag: 'x' in -x"),
        (["thing", "list", "-ax"], "unknown shorthand flag: 'x' in -ax"),
        (["thing", "list", "--name"], "flag needs an argument: --name"),
        (["thing", "list", "-n"], "flag needs an argument: 'n' in -n"),
        (["thing", "list", "--=x"], "bad flag syntax: --=x"),
        (
            ["thing", "list", "-c", "many"],
            'invalid argument "many" for "-c, --count" flag: strconv.ParseInt: parsing "many": invalid syntax',
        ),
        (
            ["thing", "list", "-c", "3000000000"],
            'invalid argument "3000000000" for "-c, --count" flag: strconv.ParseInt: parsing "3000000000": '
            "value out of range",
        ),
        (
            ["thing", "list", "--all=maybe"],
            'invalid argument "maybe" for "-a, --all" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (
            ["thing", "list", "-v=0x4"],
            'invalid argument "0x4" for "-v, --v" flag: strconv.ParseInt: parsing "0x4": invalid syntax',
        ),
        (
            ["--flush", "soon", "thing", "list"],
            'invalid argument "soon" for "--flush" flag: time: invalid duration "soon"',
        ),
    ],
)
def test_a_wrong_command_line_is_told_in_gos_words(arguments, sentence):
    with pytest.raises(UsageError) as raised:
        parse(ROOT, arguments)

    assert str(raised.value) == sentence


def test_underscores_in_the_name_of_a_flag_count_as_hyphens():
    listing = Command("list", flags=(Flag("all-things", "all", "bool", default=False),), run="somewhere:x")
    root = Command("tool", children=(listing,))

    assert parse(root, ["list", "--all_things"]).flags["all-things"] is True
    with pytest.raises(UsageError, match="unknown flag: --no_things"):
        parse(root, ["list", "--no_things"])


@pytest.mark.parametrize("arguments", [[], ["thing"], ["thing", "sing"], ["thing", "list", "-h"], ["--help"]])
def test_help_is_wanted_by_groups_and_by_the_help_flag(arguments):
    assert parse(ROOT, arguments).help_wanted


def test_a_program_without_commands_takes_any_words():
    call = parse(LIST, ["--name", "x", "help", "y"])

    assert (call.arguments, call.flags["name"], call.help_wanted) == (("help", "y"), "x", False)


def test_help_of_a_program_without_commands_is_one_block_of_flags():
    expected = """\
list things

Usage:
  list [flags]

Flags:
  -a, --all           everything
  -c, --count int32   how many (default 3)
  -h, --help          help for list
  -n, --name string   which
"""

    assert help_text([LIST]) == expected


def test_help_of_a_command_shows_own_flags_then_those_of_the_root():
    expected = """\
list things

Usage:
  tool thing list [flags]

Flags:
  -a, --all           everything
  -c, --count int32   how many (default 3)
  -h, --help          help for list
  -n, --name string   which

Global Flags:
      --flush duration   how often
  -v, --v Level          loudness
"""

    assert help_text([ROOT, ROOT.children[0], LIST]) == expected
