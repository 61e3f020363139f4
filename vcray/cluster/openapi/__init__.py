"""OpenAPI documents of what the server serves: one of v2 for all, one of v3 for each group version, with published CRDs.

`schemas` turns the data file's types into either form, `published` a definition's schema, `operations` the paths;
`documents.Publisher` puts them together when they are asked for and keeps them until the catalog changes; `gnostic` writes
the v2 document as protobuf; `answers` is the HTTP side.
"""
