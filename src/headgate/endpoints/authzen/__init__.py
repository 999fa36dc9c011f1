"""AuthZEN 1.0: any policy enforcement point asks here. The endpoint turns requests into questions; what decides is the engine."""
