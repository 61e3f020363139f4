"""Key pairs for controllers that ask for them (`vcray.controllers.base.MakeKeys`): the host throws the dice.

One takes some 30 ms of a core, so the runtime of wall time makes them in a thread; in virtual time, where nothing may go
on unseen, they are made in the loop. Keys differ from run to run even in a simulation: nothing decides by them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from vcray.controllers.base import KeyPair

BITS = 2048

MakeKeyPair: TypeAlias = Callable[[], Awaitable[KeyPair]]


def new_key_pair() -> KeyPair:
    """An RSA key as ssh-keygen writes it: private in PKCS#1 PEM, public in OpenSSH's form."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return KeyPair(private.decode(), f"{public.decode()}\n")


async def make_here() -> KeyPair:
    """Make one in the loop, which waits."""
    return new_key_pair()


async def make_aside() -> KeyPair:
    """Make one in a thread, so that the loop goes on."""
    return await asyncio.to_thread(new_key_pair)
