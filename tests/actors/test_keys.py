"""Key pairs that hosts make for controllers."""

from __future__ import annotations

import base64

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from vcray.actors.effects import EffectRunner
from vcray.actors.keys import make_aside, make_here, new_key_pair
from vcray.clock import ManualClock
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.controllers.base import All, KeyPair, MakeKeys
from vcray.kube.client import KubeClient
from vcray.kube.events import EventRecorder


def test_pair_is_rsa_of_2048_bits_in_the_forms_that_ssh_reads():
    pair = new_key_pair()

    assert pair.private.startswith("-----BEGIN RSA PRIVATE KEY-----\n")
    private = serialization.load_pem_private_key(pair.private.encode(), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    assert (private.key_size, private.public_key().public_numbers().e) == (2048, 65537)
    kind, encoded = pair.public.removesuffix("\n").split(" ")
    assert kind == "ssh-rsa"
    assert base64.b64decode(encoded)[4:11] == b"ssh-rsa"
    public = serialization.load_ssh_public_key(pair.public.encode())
    assert isinstance(public, rsa.RSAPublicKey)
    assert public.public_numbers() == private.public_key().public_numbers()


async def test_no_two_pairs_are_the_same():
    pairs = [await make_here(), await make_aside(), await make_here()]

    assert len({pair.private for pair in pairs}) == len({pair.public for pair in pairs}) == 3


async def test_runner_answers_with_the_pair_of_its_maker():
    async def make() -> KeyPair:
        return KeyPair("private", "public")

    client = KubeClient(InProcessTransport(Store(ManualClock(0.0))))
    events = EventRecorder(client, "tests", ManualClock(0.0))
    runner = EffectRunner(client, events, lambda *_: None, lambda *_: None, make_keys=make)

    alone, several = await runner.run(MakeKeys()), await runner.run(All((MakeKeys(),)))

    assert (alone.ok, alone.keys) == (True, KeyPair("private", "public"))
    assert several.parts == (alone,)
