package pooled;

import java.sql.SQLException;

/** Four products are counted and ordered again: 31 to 33 queries in three database transactions. */
final class Inventory implements Transaction {
    private static final int PRODUCTS = 4;

    @Override
    public void run(Work work) throws SQLException {
        long[] products = new long[PRODUCTS];
        work.inTransaction(w -> {
            System.arraycopy(w.ids(PRODUCTS, w.sizes().products()), 0, products, 0, PRODUCTS);
            count(w, products);
        });
        work.think();
        work.inTransaction(w -> restock(w, products));
        work.think();
        work.inTransaction(w -> price(w, products[0]));
    }

    private static void count(Work work, long[] products) throws SQLException {
        for (long product : products) {
            work.select("SELECT product_id, sku, name, weight_g FROM products WHERE product_id = ?", product);
            work.select("SELECT cents, currency FROM prices WHERE product_id = ?", product);
            work.select("SELECT on_hand, reserved FROM stock WHERE product_id = ?", product);
            work.select("SELECT order_id, quantity FROM order_lines WHERE product_id = ? LIMIT 10", product);
        }
        Transaction.recommend(work);
    }

    private static void restock(Work work, long[] products) throws SQLException {
        for (long product : products) {
            work.select("SELECT on_hand, reserved FROM stock WHERE product_id = ? FOR UPDATE", product);
            work.change("UPDATE stock SET on_hand = on_hand + 5 WHERE product_id = ?", product);
            work.change("INSERT INTO stock_movements (product_id, quantity) VALUES (?, 5)", product);
        }
    }

    private static void price(Work work, long product) throws SQLException {
        work.select("SELECT cents, currency FROM prices WHERE product_id = ?", product);
        work.change("UPDATE prices SET cents = cents + ? WHERE product_id = ?", work.random.nextInt(-1, 2), product);
        work.select("SELECT movement_id, quantity FROM stock_movements WHERE product_id = ? LIMIT 10", product);
    }
}
