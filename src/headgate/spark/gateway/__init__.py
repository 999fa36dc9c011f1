"""The gateway: a Spark Connect proxy, and the only way from a client to the driver.

Import `Gateway`, `GatewaySettings` from `server` and `DriverBackend` from `driver_channel`.
"""
