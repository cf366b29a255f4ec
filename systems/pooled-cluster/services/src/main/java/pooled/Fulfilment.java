package pooled;

import java.sql.SQLException;
import java.util.List;

/** An order is packed and handed to a carrier: 32 to 34 queries in three database transactions. */
final class Fulfilment implements Transaction {
    private static final int LINES = 3;

    @Override
    public void run(Work work) throws SQLException {
        long[] products = new long[LINES];
        long[] chosen = new long[3];
        work.inTransaction(w -> {
            chosen[0] = w.id(w.sizes().orders());
            chosen[1] = w.id(w.sizes().customers());
            System.arraycopy(w.ids(LINES, w.sizes().products()), 0, products, 0, LINES);
            chosen[2] = collect(w, chosen[0], chosen[1], products);
        });
        work.think();
        work.inTransaction(w -> pack(w, chosen[0], chosen[2], products));
        work.think();
        work.inTransaction(w -> handOver(w, chosen[0], chosen[1], chosen[2]));
    }

    private static long collect(Work work, long order, long customer, long[] products) throws SQLException {
        work.select("SELECT order_id, status, cents FROM orders WHERE order_id = ?", order);
        work.select("SELECT customer_id, name, email, country FROM customers WHERE customer_id = ?", customer);
        work.select("SELECT address_id, street, city, postcode FROM addresses WHERE customer_id = ?", customer);
        work.select("SELECT line_no, product_id, quantity FROM order_lines WHERE order_id = ?", order);
        for (long product : products) {
            work.select("SELECT product_id, sku, name, weight_g FROM products WHERE product_id = ?", product);
            work.select("SELECT on_hand, reserved FROM stock WHERE product_id = ?", product);
        }
        Transaction.recommend(work);
        List<Long> made = work.select(
                "INSERT INTO shipments (order_id, carrier, status) VALUES (?, 'post', 'new') RETURNING shipment_id",
                order);
        work.change("INSERT INTO order_events (order_id, kind) VALUES (?, 'collected')", order);
        work.change("UPDATE orders SET status = 'collected', updated_at = now() WHERE order_id = ?", order);
        return made.get(0);
    }

    private static void pack(Work work, long order, long shipment, long[] products) throws SQLException {
        for (long product : products) {
            work.select("SELECT on_hand, reserved FROM stock WHERE product_id = ? FOR UPDATE", product);
            work.change(
                    "UPDATE stock SET on_hand = on_hand - 1, reserved = reserved - 1 WHERE product_id = ?", product);
        }
        work.change("INSERT INTO order_events (order_id, kind) VALUES (?, 'packed')", order);
        work.select("SELECT shipment_id, carrier FROM shipments WHERE shipment_id = ?", shipment);
        work.change("UPDATE shipments SET status = 'packed', updated_at = now() WHERE shipment_id = ?", shipment);
    }

    private static void handOver(Work work, long order, long customer, long shipment) throws SQLException {
        work.select("SELECT shipment_id, status FROM shipments WHERE shipment_id = ? FOR UPDATE", shipment);
        work.change("UPDATE shipments SET status = 'sent', updated_at = now() WHERE shipment_id = ?", shipment);
        work.change("UPDATE orders SET status = 'sent', updated_at = now() WHERE order_id = ?", order);
        work.change("INSERT INTO order_events (order_id, kind) VALUES (?, 'sent')", order);
        work.select("SELECT customer_id, email FROM customers WHERE customer_id = ?", customer);
        work.change(
                "INSERT INTO notifications (customer_id, order_id, channel) VALUES (?, ?, 'mail')", customer, order);
        work.select("SELECT order_id, status, updated_at FROM orders WHERE order_id = ?", order);
        work.select("SELECT event_id, kind, at FROM order_events WHERE order_id = ? ORDER BY 1 DESC LIMIT 5", order);
        work.select("SELECT payment_id, status, cents FROM payments WHERE order_id = ? LIMIT 5", order);
        work.change("UPDATE customers SET last_seen_at = now() WHERE customer_id = ?", customer);
    }
}
