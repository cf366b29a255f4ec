package pooled;

import java.sql.SQLException;

/** A customer looks at earlier orders: 30 to 35 queries, most of them SELECT, in two database transactions. */
final class Account implements Transaction {
    private static final int ORDERS = 5;
    private static final int PRODUCTS = 3;

    @Override
    public void run(Work work) throws SQLException {
        long[] customer = new long[1];
        work.inTransaction(w -> {
            customer[0] = w.id(w.sizes().customers());
            history(w, customer[0]);
        });
        work.think();
        work.inTransaction(w -> suggest(w, customer[0]));
    }

    private static void history(Work work, long customer) throws SQLException {
        work.select("SELECT customer_id, name, email, country FROM customers WHERE customer_id = ?", customer);
        work.select("SELECT address_id, street, city, postcode FROM addresses WHERE customer_id = ?", customer);
        work.select("SELECT points, tier FROM loyalty WHERE customer_id = ?", customer);
        work.select(
                "SELECT order_id, status, cents FROM orders WHERE customer_id = ? ORDER BY order_id DESC LIMIT 5",
                customer);
        for (int number = 0; number < ORDERS; number++) {
            long order = work.id(work.sizes().orders());
            work.select("SELECT line_no, product_id, quantity FROM order_lines WHERE order_id = ?", order);
            work.select("SELECT payment_id, status, cents FROM payments WHERE order_id = ? LIMIT 5", order);
            work.select("SELECT shipment_id, status FROM shipments WHERE order_id = ? LIMIT 5", order);
            work.select(
                    "SELECT event_id, kind, at FROM order_events WHERE order_id = ? ORDER BY 1 DESC LIMIT 5", order);
        }
    }

    private static void suggest(Work work, long customer) throws SQLException {
        for (long product : work.ids(PRODUCTS, work.sizes().products())) {
            work.select("SELECT product_id, sku, name, weight_g FROM products WHERE product_id = ?", product);
            work.select("SELECT cents, currency FROM prices WHERE product_id = ?", product);
        }
        Transaction.recommend(work);
        work.change("UPDATE customers SET last_seen_at = now() WHERE customer_id = ?", customer);
        work.change("INSERT INTO notifications (customer_id, channel) VALUES (?, 'page')", customer);
        work.change("UPDATE loyalty SET points = points + 1 WHERE customer_id = ?", customer);
    }
}
