"""Java's messages for a file access, a connection or a process start that the kernel refused."""

import re
from typing import Final

REFUSAL: Final = re.compile(r"AccessDeniedException|Permission denied|Operation not permitted|error=1[,:]|error=13[,:]")
