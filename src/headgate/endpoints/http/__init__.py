"""What stands between the network and the doors: ids, limits, probes, metrics, headers, TLS. It decides nothing about access."""
