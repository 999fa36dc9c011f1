import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * A nightly report, as JDBC programs make it: it loads orders into a table, summarizes them by country, and checks the result.
 *
 * The address is in SPARK_REMOTE, as for PySpark: sc://host:port/;token=...
 */
public class JdbcProgram {
    private static final String SCHEMA = "lake.jdbc_shop";

    public static void main(String[] arguments) throws SQLException {
        String remote = System.getenv("SPARK_REMOTE");
        if (remote == null) {
            System.err.println("set SPARK_REMOTE to sc://host:port/;token=...");
            System.exit(2);
        }
        try (Connection connection = DriverManager.getConnection("jdbc:" + remote)) {
            load(connection);
            report(connection);
            describe(connection);
        }
    }

    private static void load(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET spark.sql.shuffle.partitions = 4");
            statement.execute("CREATE SCHEMA IF NOT EXISTS " + SCHEMA);
            statement.execute("DROP TABLE IF EXISTS " + SCHEMA + ".orders");
            statement.execute("CREATE TABLE " + SCHEMA + ".orders (id BIGINT, country STRING, amount DECIMAL(10, 2), ordered DATE)");
            statement.executeUpdate("INSERT INTO " + SCHEMA + ".orders VALUES "
                + "(1, 'AR', 10.50, DATE'2026-01-01'), (2, 'AR', 4.50, DATE'2026-01-02'), (3, 'DE', 7.25, DATE'2026-01-02')");
            statement.executeUpdate("MERGE INTO " + SCHEMA + ".orders AS t USING (SELECT 3 AS id, CAST(8.00 AS DECIMAL(10, 2)) AS amount) AS s "
                + "ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.amount = s.amount");
        }
    }

    private static void report(Connection connection) throws SQLException {
        String query = "SELECT country, count(*) AS orders, sum(amount) AS total, max(ordered) AS last FROM " + SCHEMA
            + ".orders GROUP BY country ORDER BY country";
        BigDecimal sum = BigDecimal.ZERO;
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                sum = sum.add(rows.getBigDecimal("total"));
                System.out.printf("%s: %d orders, %s, last on %s%n",
                    rows.getString("country"), rows.getLong("orders"), rows.getBigDecimal("total"), rows.getDate("last"));
            }
        }
        System.out.println("in all: " + sum);
    }

    private static void describe(Connection connection) throws SQLException {
        DatabaseMetaData metadata = connection.getMetaData();
        try (ResultSet columns = metadata.getColumns("lake", "jdbc_shop", "orders", "%")) {
            while (columns.next()) {
                System.out.println(columns.getString("COLUMN_NAME") + " " + columns.getString("TYPE_NAME"));
            }
        }
    }
}
