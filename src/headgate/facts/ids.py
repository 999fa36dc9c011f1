"""Opaque identifiers. Each kind is a type of its own, so that a checker catches a mix-up."""

from typing import NewType

PrincipalId = NewType("PrincipalId", str)
GroupId = NewType("GroupId", str)
ResourceId = NewType("ResourceId", str)
TokenId = NewType("TokenId", str)
RunId = NewType("RunId", str)
RequestId = NewType("RequestId", str)

SubjectId = PrincipalId | GroupId | ResourceId
"""Whoever an assignment can name: a principal, a group, or a team or domain, which is a resource."""
