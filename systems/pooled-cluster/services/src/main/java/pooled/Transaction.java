package pooled;

import java.sql.SQLException;

/** A kind of business transaction: 30 to 35 queries in several database transactions. */
interface Transaction {
    void run(Work work) throws SQLException;

    /** Return the business transaction of a service. */
    static Transaction of(String kind, Events events) {
        switch (kind) {
            case "checkout":
                return new Checkout(events);
            case "fulfilment":
                return new Fulfilment();
            case "account":
                return new Account();
            case "inventory":
                return new Inventory();
            case "notification":
                return work -> {};
            default:
                throw new IllegalArgumentException("there is no service '" + kind + "'");
        }
    }

    /** Look at some products that go with others; up to two queries. */
    static void recommend(Work work) throws SQLException {
        for (int number = work.random.nextInt(3); number > 0; number--) {
            work.select(
                    "SELECT product_id, name FROM products WHERE category_id = ? LIMIT 5",
                    work.id(Math.max(work.sizes().products() / 50, 1)));
        }
    }
}
