"""What stands between the network and the endpoints: ids, limits, probes, metrics, headers, TLS. It decides nothing about access."""
