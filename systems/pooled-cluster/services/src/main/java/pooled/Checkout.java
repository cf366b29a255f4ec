package pooled;

import java.sql.SQLException;
import java.util.List;

/** A customer buys three products: 32 to 34 queries in three database transactions. */
final class Checkout implements Transaction {
    private static final int LINES = 3;
    private final Events events;

    Checkout(Events events) {
        this.events = events;
    }

    @Override
    public void run(Work work) throws SQLException {
        long[] products = new long[LINES];
        long[] chosen = new long[2];
        work.inTransaction(w -> {
            chosen[0] = w.id(w.sizes().customers());
            System.arraycopy(w.ids(LINES, w.sizes().products()), 0, products, 0, LINES);
            look(w, chosen[0], products);
        });
        work.think();
        work.inTransaction(w -> chosen[1] = order(w, chosen[0], products));
        work.think();
        work.inTransaction(w -> pay(w, chosen[0], chosen[1], products));
        events.placed(chosen[1], chosen[0]);
    }

    private static void look(Work work, long customer, long[] products) throws SQLException {
        work.select("SELECT customer_id, name, email, country FROM customers WHERE customer_id = ?", customer);
        work.select("SELECT address_id, street, city, postcode FROM addresses WHERE customer_id = ?", customer);
        work.select("SELECT points, tier FROM loyalty WHERE customer_id = ?", customer);
        work.select("SELECT items, updated_at FROM carts WHERE customer_id = ?", customer);
        for (long product : products) {
            work.select("SELECT product_id, sku, name, weight_g FROM products WHERE product_id = ?", product);
            work.select("SELECT cents, currency FROM prices WHERE product_id = ?", product);
        }
        Transaction.recommend(work);
        work.change("UPDATE carts SET items = items + 1, updated_at = now() WHERE customer_id = ?", customer);
    }

    private static long order(Work work, long customer, long[] products) throws SQLException {
        for (long product : products) {
            work.select("SELECT on_hand, reserved FROM stock WHERE product_id = ? FOR UPDATE", product);
            work.change("UPDATE stock SET reserved = reserved + 1 WHERE product_id = ?", product);
        }
        List<Long> made = work.select(
                "INSERT INTO orders (customer_id, status, cents) VALUES (?, 'new', 0) RETURNING order_id", customer);
        long order = made.get(0);
        for (int line = 0; line < LINES; line++) {
            work.change(
                    "INSERT INTO order_lines (order_id, line_no, product_id, quantity, cents) VALUES (?, ?, ?, 1, ?)",
                    order, line + 1, products[line], work.random.nextInt(100, 10_000));
        }
        work.change("INSERT INTO order_events (order_id, kind) VALUES (?, 'placed')", order);
        work.select("SELECT sum(quantity * cents) FROM order_lines WHERE order_id = ?", order);
        work.change(
                "UPDATE orders SET cents = (SELECT sum(quantity * cents) FROM order_lines WHERE order_id = ?),"
                        + " updated_at = now() WHERE order_id = ?",
                order, order);
        return order;
    }

    private static void pay(Work work, long customer, long order, long[] products) throws SQLException {
        work.select("SELECT order_id, status, cents FROM orders WHERE order_id = ? FOR UPDATE", order);
        long payment = work.select(
                "INSERT INTO payments (order_id, method, status, cents) SELECT order_id, 'card', 'asked', cents"
                        + " FROM orders WHERE order_id = ? RETURNING payment_id",
                order).get(0);
        work.change("UPDATE payments SET status = 'paid' WHERE payment_id = ?", payment);
        work.change("UPDATE orders SET status = 'paid', updated_at = now() WHERE order_id = ?", order);
        work.change("UPDATE loyalty SET points = points + 1 WHERE customer_id = ?", customer);
        work.change("INSERT INTO order_events (order_id, kind) VALUES (?, 'paid')", order);
        work.change("UPDATE carts SET items = 0, updated_at = now() WHERE customer_id = ?", customer);
        work.select(
                "SELECT l.line_no, p.name, l.cents FROM order_lines l JOIN products p USING (product_id)"
                        + " WHERE l.order_id = ?",
                order);
    }
}
