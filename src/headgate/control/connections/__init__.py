"""Connections: what is behind them, and the vault of their secrets."""
