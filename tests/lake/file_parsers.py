"""The parsers that the tests of the lake share; their launcher ends with the test process."""

from headgate.untrusted_input.blocking_pool import BlockingPool

PARSERS = BlockingPool()
