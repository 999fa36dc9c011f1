"""Opaque identifiers. Each kind has its own type, so that a type checker finds a confusion of two kinds."""

import re
from typing import NewType

PrincipalId = NewType("PrincipalId", str)
GroupId = NewType("GroupId", str)
ResourceId = NewType("ResourceId", str)
TokenId = NewType("TokenId", str)
RunId = NewType("RunId", str)
RequestId = NewType("RequestId", str)

SubjectId = PrincipalId | GroupId | ResourceId
"""The subject of an assignment: a principal, a group, or a team or domain, which is a resource."""


_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def is_folder_name(id: str) -> bool:
    """Whether an id is safe as the name of a folder. An imported id can be any text."""
    return _FOLDER_NAME.fullmatch(id) is not None
