ALTER TABLE lake.trusted.delays SET LOCATION '/x'
ALTER TABLE lake.raw.flights PARTITION (year = 2012) SET LOCATION '/x'
ALTER TABLE lake.raw.flights ADD PARTITION (year = 2014) LOCATION '/x'
ALTER TABLE lake.trusted.delays SET TBLPROPERTIES ('write.data.path' = '/x')
ALTER TABLE lake.trusted.delays SET TBLPROPERTIES ('write.metadata.path' = '/x')
ALTER TABLE lake.trusted.delays SET TBLPROPERTIES ('write.object-storage.path' = '/x')
ALTER TABLE lake.trusted.delays SET TBLPROPERTIES ('write.location-provider.impl' = 'x.Y')
ALTER TABLE lake.trusted.delays SET TBLPROPERTIES ('LOCATION' = '/x')
ALTER TABLE lake.trusted.delays SET TBLPROPERTIES ('my.data.path' = '/x')
ALTER TABLE lake.trusted.delays SET TBLPROPERTIES ('my.own' = 'x', 'parquet.crypto.factory.class' = 'x.Y')
ALTER TABLE lake.trusted.delays SET TBLPROPERTIES ('fs.s3a.endpoint' = 'x')
CREATE TABLE lake.trusted.own (a INT) TBLPROPERTIES ('my.filter.class' = 'x.Y')
ALTER TABLE lake.trusted.delays SET SERDE 'x.Y'
ALTER VIEW lake.trusted.v SET TBLPROPERTIES ('write.metadata.path' = '/x')
CREATE TABLE trusted.copied LIKE secret.salaries LOCATION '/x'
CREATE TABLE lake.trusted.ext USING parquet OPTIONS (path '/x') AS SELECT 1 AS a
CREATE TABLE lake.trusted.ext (a INT) USING csv
CREATE SCHEMA lake.fresh LOCATION '/x'
CREATE SCHEMA lake.fresh.deeper
CREATE SCHEMA spark_catalog.fresh
ALTER SCHEMA lake.raw SET LOCATION '/x'
CREATE VIEW spark_catalog.default.w AS SELECT 1 AS a
CREATE FUNCTION lake.trusted.f AS 'x.Y'
CREATE FUNCTION lake.trusted.f() RETURNS INT RETURN 1
CREATE TEMPORARY FUNCTION f AS 'x.Y'
CREATE TEMPORARY FUNCTION f AS 'x.Y' USING JAR '/x.jar'
DROP FUNCTION lake.trusted.f
SELECT lake.trusted.f()
LOAD DATA INPATH '/x' INTO TABLE lake.trusted.delays
INSERT OVERWRITE DIRECTORY '/x' USING csv SELECT 1
INSERT OVERWRITE LOCAL DIRECTORY '/x' USING csv SELECT 1
INSERT INTO parquet.`/x` SELECT 1
ADD JAR '/x.jar'
ADD FILE '/x'
ADD ARCHIVE '/x.zip'
LIST JARS
LIST FILES
REFRESH '/x'
REFRESH FUNCTION f
SET spark.sql.variable.substitute = true
RESET headgate.principal.token
EXECUTE IMMEDIATE 'SET headgate.principal.token = x'
SELECT * FROM IDENTIFIER('parquet' || '.`/x`')
SELECT * FROM IDENTIFIER('spark_catalog.default' || '.x')
EXPLAIN SELECT reflect('java.lang.System', 'getProperty', 'user.name')
DESCRIBE QUERY SELECT * FROM parquet.`/x`
CACHE TABLE c AS SELECT * FROM csv.`/x`
CREATE TEMPORARY VIEW w USING jdbc OPTIONS (url 'jdbc:x', dbtable 't')
CREATE OR REPLACE GLOBAL TEMPORARY VIEW gv AS SELECT 1
DROP VIEW global_temp.gv
DECLARE OR REPLACE VARIABLE w STRING DEFAULT java_method('java.lang.System', 'getProperty', 'user.name')
EXECUTE IMMEDIATE reflect('java.lang.System', 'getProperty', 'user.name')
CREATE TEMPORARY FUNCTION f() RETURNS STRING RETURN reflect('java.lang.System', 'getProperty', 'user.name')
ANALYZE TABLES IN lake.raw COMPUTE STATISTICS
SHOW TABLES IN spark_catalog.default
SET CATALOG spark_catalog
USE spark_catalog.default
CALL lake.system.register_table('trusted.stolen', '/x.json')
CALL IDENTIFIER('lake.system' || '.register_table')('trusted.stolen', '/x.json')
CREATE TABLE trusted.copied LIKE secret.salaries
SET spark.sql.caseSensitive = true
SET spark.sql.caseSensitive = `true`
SET spark.sql.legacy.timeParserPolicy = LEGACY
SET spark.sql.legacy.timeParserPolicy = EXCEPTION
SET spark.sql.cteRecursionLevelLimit = -1
RESET spark.sql.variable.substitute
SET spark.sql.binaryOutputStyle = BASIC
SET spark.sql.warehouse.dir
SET spark.executor.memory
SET headgate.principal.token
SET fs.s3a.access.key = x
SET PATH = lake.raw
SET spark.sql.files.maxPartitionBytes = 1
SET spark.sql.files.maxPartitionBytes = 1kb
SET spark.sql.broadcastTimeout = 10m
RESET spark.sql.extensions
SET `spark.sql.catalog.lake.token-handle`
DROP FUNCTION nosuch
SELECT lake.system.nosuch(1)
SELECT a.b.nosuch(1)
