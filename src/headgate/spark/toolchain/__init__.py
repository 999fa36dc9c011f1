"""The toolchain: Java, the jars and the guard, fetched, checked and built."""
