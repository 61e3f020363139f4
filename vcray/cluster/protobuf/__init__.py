"""Protobuf bodies of Kubernetes' own kinds: what client-go sends and asks for, to and from the JSON that is stored.

`wire` reads and writes the encoding, `fields` knows the numbers (data/protobuf.json, written by
tools/openapi/protobuf_fields.py), `codec` is what the server calls.
"""
