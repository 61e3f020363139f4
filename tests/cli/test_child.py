"""What a control plane that ends before it is ready leaves to be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from vcray.cli.child import Child
from vcray.errors import ConfigError, ServerError, VcrayError


async def failure(tmp_path: Path, script: str) -> VcrayError:
    child = Child(["/bin/sh", "-c", script], tmp_path / "log", lambda _: None)
    with pytest.raises(VcrayError) as caught:
        await child.start()
    return caught.value


async def test_all_sentences_about_its_input_are_told_and_it_is_the_users_input(tmp_path: Path) -> None:
    error = await failure(tmp_path, "printf 'starting\\nVC0105 a: b\\nVC0107 c: d\\n' >&2; exit 2")

    assert (type(error), str(error)) == (ConfigError, "VC0105 a: b\nVC0107 c: d")


async def test_only_the_sentences_that_it_ends_with_are_told(tmp_path: Path) -> None:
    error = await failure(tmp_path, "printf 'VC0401 x: away\\nonce more\\nVC0402 x: no\\nbye\\n' >&2; exit 3")

    assert (type(error), str(error)) == (ServerError, "VC0402 x: no")


@pytest.mark.parametrize(
    ("end", "how"), [("exit 1", "ended with exit code 1"), ("kill -9 $$", "was ended by signal 9")]
)
async def test_without_a_sentence_how_it_ended_and_its_last_line_are_told(
    tmp_path: Path, end: str, how: str
) -> None:
    error = await failure(tmp_path, f"echo boom >&2; {end}")

    assert (type(error), str(error)) == (ServerError, f"VC0604 control plane: {how}; it said: boom")
