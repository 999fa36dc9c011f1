"""The gateway: the only way from a Spark Connect client to the driver.

Import `Gateway`, `GatewaySettings` from `server` and `DriverBackend` from `driver_channel`.
"""
