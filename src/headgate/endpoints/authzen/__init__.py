"""AuthZEN 1.0: decisions for any policy enforcement point. Requests become questions to the engine, which decides."""
