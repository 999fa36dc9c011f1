"""How Java says that the kernel refused something: a file, a connection, a process."""

import re
from typing import Final

REFUSAL: Final = re.compile(r"AccessDeniedException|Permission denied|Operation not permitted|error=1[,:]|error=13[,:]")
