"""The toolchain of Spark: Java, the jars and the guard, downloaded, verified and built."""
