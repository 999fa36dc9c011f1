"""HTTP middlewares between the network and the endpoints: ids, limits, probes, metrics, headers, TLS. They decide no access."""
