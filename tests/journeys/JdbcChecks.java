import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** Tries what JDBC tools do, and prints a line for each attempt: its name, a tab, and the result or the error. */
public class JdbcChecks {
    private interface Attempt {
        Object run() throws Exception;
    }

    private static Connection connection;

    public static void main(String[] arguments) throws Exception {
        try (Connection opened = DriverManager.getConnection(arguments[0])) {
            connection = opened;
            switch (arguments[1]) {
                case "read" -> read();
                case "write" -> write();
                case "list" -> list();
                case "refused" -> refused(List.of(arguments).subList(2, arguments.length));
                default -> throw new IllegalArgumentException(arguments[1]);
            }
        }
    }

    private static void read() {
        attempt("valid", () -> connection.isValid(5));
        attempt("numbers", () -> query("SELECT 1Y, 2S, 3, 4L, 1.5F, 2.5D, CAST(1.50 AS DECIMAL(10, 2)), true"));
        attempt("texts", () -> query("SELECT 'x', X'41', NULL, DATE'2026-01-02', TIMESTAMP_NTZ'2026-01-02 03:04:05'"));
        attempt("nested", () -> query("SELECT array(1, 2), map('a', 1), named_struct('a', 1), parse_json('{\"a\":1}')"));
        attempt("columns", () -> describe("SELECT carrier, year FROM lake.air.flights"));
        attempt("rows", () -> query("SELECT carrier, year FROM lake.air.flights ORDER BY year"));
        attempt("view", () -> query("SELECT carrier FROM lake.air.carriers ORDER BY carrier"));
        attempt("many rows", () -> sum("SELECT id FROM range(0, 200000, 1, 1)"));
        attempt("first row", () -> {
            try (Statement statement = connection.createStatement()) {
                statement.setMaxRows(1);
                return text(statement.executeQuery("SELECT year FROM lake.air.flights ORDER BY year"));
            }
        });
        attempt("user", () -> query("SELECT current_user(), current_catalog()"));
        attempt("current", () -> {
            connection.setCatalog("lake");
            connection.setSchema("air");
            return connection.getCatalog() + "." + connection.getSchema() + ": " + query("SELECT count(*) FROM flights");
        });
        attempt("setting", () -> query("SET spark.sql.shuffle.partitions = 7"));
        attempt("timeout", () -> statementValue(Statement::getQueryTimeout));
        attempt("prepared", () -> connection.prepareStatement("SELECT ?"));
        attempt("syntax", () -> query("SELEC 1"));
        attempt("no column", () -> query("SELECT nope FROM lake.air.flights"));
        attempt("division", () -> query("SELECT 1/0"));
    }

    private static void write() {
        update("CREATE TABLE lake.air.seats (flight INT, seat STRING)");
        update("INSERT INTO lake.air.seats VALUES (1, '1A'), (2, '2B')");
        update("UPDATE lake.air.seats SET seat = '9C' WHERE flight = 2");
        update("MERGE INTO lake.air.seats t USING (SELECT 3 AS flight, '3D' AS seat) s ON t.flight = s.flight WHEN NOT MATCHED THEN INSERT *");
        update("DELETE FROM lake.air.seats WHERE flight = 1");
        attempt("left", () -> query("SELECT * FROM lake.air.seats ORDER BY flight"));
        update("DROP TABLE lake.air.seats");
        attempt("use", () -> statementValue(statement -> statement.execute("USE lake.air")));
    }

    private static void list() throws SQLException {
        DatabaseMetaData data = connection.getMetaData();
        attempt("product", () -> data.getDatabaseProductName() + " " + data.getDatabaseMajorVersion());
        attempt("catalogs", () -> text(data.getCatalogs()));
        attempt("schemas", () -> text(data.getSchemas()));
        attempt("schemas like", () -> text(data.getSchemas("lake", "ai%")));
        attempt("table types", () -> text(data.getTableTypes()));
        attempt("tables", () -> names(data.getTables(null, null, null, null), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE"));
        attempt("tables like", () -> names(data.getTables("lake", "air", "fl%", new String[] {"TABLE"}), "TABLE_NAME"));
        attempt("columns", () -> names(data.getColumns("lake", "air", "flights", "%"), "COLUMN_NAME", "TYPE_NAME", "REMARKS"));
        attempt("columns like", () -> names(data.getColumns(null, null, null, "y%"), "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME"));
        attempt("hidden tables", () -> names(data.getTables("lake", "payroll", "%", null), "TABLE_NAME"));
        attempt("hidden columns", () -> names(data.getColumns("lake", "payroll", "%", "%"), "COLUMN_NAME"));
        attempt("show catalogs", () -> query("SHOW CATALOGS"));
        attempt("show schemas", () -> query("SHOW SCHEMAS"));
        attempt("ungoverned schemas", () -> query("SHOW SCHEMAS IN spark_catalog"));
    }

    private static void refused(List<String> statements) {
        for (String statement : statements) {
            attempt(statement, () -> query(statement));
        }
    }

    private static void update(String statement) {
        attempt(statement.substring(0, statement.indexOf(' ')), () -> statementValue(each -> each.executeUpdate(statement)));
    }

    private interface OfStatement {
        Object of(Statement statement) throws SQLException;
    }

    private static Object statementValue(OfStatement value) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return value.of(statement);
        }
    }

    private static String query(String query) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return text(statement.executeQuery(query));
        }
    }

    private static long sum(String query) throws SQLException {
        long sum = 0;
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                sum += rows.getLong(1);
            }
        }
        return sum;
    }

    private static String describe(String query) throws SQLException {
        List<String> columns = new ArrayList<>();
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
            ResultSetMetaData data = rows.getMetaData();
            for (int column = 1; column <= data.getColumnCount(); column++) {
                columns.add(data.getColumnLabel(column) + " " + data.getColumnTypeName(column) + " " + data.getColumnClassName(column));
            }
        }
        return String.join(", ", columns);
    }

    private static String names(ResultSet rows, String... columns) throws SQLException {
        List<String> found = new ArrayList<>();
        try (rows) {
            while (rows.next()) {
                List<String> row = new ArrayList<>();
                for (String column : columns) {
                    row.add(rows.getString(column));
                }
                found.add(String.join(" ", row));
            }
        }
        return String.join(", ", found);
    }

    private static String text(ResultSet rows) throws SQLException {
        List<String> found = new ArrayList<>();
        try (rows) {
            while (rows.next()) {
                List<String> row = new ArrayList<>();
                for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++) {
                    Object value = rows.getObject(column);
                    row.add(value instanceof byte[] bytes ? new String(bytes) : String.valueOf(value));
                }
                found.add(String.join(" ", row));
            }
        }
        return String.join(", ", found);
    }

    private static void attempt(String name, Attempt attempt) {
        String result;
        try {
            result = String.valueOf(attempt.run());
        } catch (Throwable error) {
            result = error.getClass().getName() + ": " + error.getMessage();
        }
        System.out.println(name + "\t" + result.replaceAll("\\s+", " ").strip());
    }
}
