"""Files of connections: copied and read within bounds, without a link that leads out of their folder."""
