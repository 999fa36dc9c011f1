"""The settings, and the wiring of store, models, drivers and endpoints into one deployment. No other package wires them."""
