"""The parsers that tests of the lake share: one launcher for all of them, which ends with the process."""

from headgate.untrusted_input.blocking_pool import BlockingPool

PARSERS = BlockingPool()
