"""Names of container images, as far as a server looks into them."""

from __future__ import annotations


def is_latest(image: str) -> bool:
    """True if the image is named without a tag or digest, or with the tag `latest`: such are pulled always."""
    name = image.rpartition("/")[2]
    return "@" not in image and (":" not in name or name.endswith(":latest"))
