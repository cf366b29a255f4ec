package pooled;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** How many rows the generated data has; ids go from 1 to these. */
record Sizes(long customers, long products, long orders) {
    private static final String COUNTS =
            "SELECT max(customer_id), (SELECT max(product_id) FROM products), "
                    + "(SELECT max(order_id) FROM orders) FROM customers";

    static Sizes of(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(COUNTS)) {
            row.next();
            return new Sizes(row.getLong(1), row.getLong(2), row.getLong(3));
        }
    }
}
