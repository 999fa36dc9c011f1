"""Settings, and the only wiring: which store, which model, which driver stand behind which endpoint."""
