"""Opaque identifiers. Each kind is a type of its own, so that a checker catches a mix-up."""

import re
from typing import NewType

PrincipalId = NewType("PrincipalId", str)
GroupId = NewType("GroupId", str)
ResourceId = NewType("ResourceId", str)
TokenId = NewType("TokenId", str)
RunId = NewType("RunId", str)
RequestId = NewType("RequestId", str)

SubjectId = PrincipalId | GroupId | ResourceId
"""Whoever an assignment can name: a principal, a group, or a team or domain, which is a resource."""


_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def is_folder_name(id: str) -> bool:
    """Return whether an id can be the name of a folder. One that was imported may be anything."""
    return _FOLDER_NAME.fullmatch(id) is not None
