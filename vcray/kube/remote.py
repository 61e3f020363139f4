"""Calls to programs outside over HTTP, from a thread that may wait: several at once, each with its own time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import aiohttp

from vcray.core.remote import Call, RemoteError

AT_ONCE: Final = 16
"""Calls at the same time, as Volcano's workers."""

LARGEST: Final = 10 * 2**20
"""Bytes of an answer that are read at most."""


class HttpRemote:
    """POSTs JSON. A status other than 200, no answer in time, or one that is too large is an error."""

    def post(self, calls: Sequence[Call]) -> list[bytes | RemoteError]:
        """Blocks. In a thread that runs an event loop another thread does the work, and the loop stands still meanwhile."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(_post_all(calls))
        with ThreadPoolExecutor(1) as aside:
            return aside.submit(asyncio.run, _post_all(calls)).result()


async def _post_all(calls: Sequence[Call]) -> list[bytes | RemoteError]:
    turns = asyncio.Semaphore(AT_ONCE)
    async with aiohttp.ClientSession() as session:

        async def post(call: Call) -> bytes | RemoteError:
            async with turns:
                return await _post(session, call)

        return list(await asyncio.gather(*map(post, calls)))


async def _post(session: aiohttp.ClientSession, call: Call) -> bytes | RemoteError:
    try:
        async with session.post(
            call.url,
            data=call.body,
            headers={"Content-Type": "application/json"},
            timeout=aiohttp.ClientTimeout(total=call.timeout_s),
        ) as answer:
            if answer.status != 200:
                return RemoteError(f"{call.url} answered with status {answer.status}")
            body = await answer.content.read(LARGEST + 1)
            while not answer.content.at_eof() and len(body) <= LARGEST:
                body += await answer.content.read(LARGEST + 1 - len(body))
            return (
                body
                if len(body) <= LARGEST
                else RemoteError(f"{call.url} answered with more than {LARGEST} bytes")
            )
    except TimeoutError:
        return RemoteError(f"{call.url} did not answer within {call.timeout_s:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return RemoteError(f"{call.url}: {error or type(error).__name__}")
