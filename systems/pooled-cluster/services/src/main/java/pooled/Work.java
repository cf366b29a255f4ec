package pooled;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** One business transaction: database transactions on connections of an instance's pool, and think times between. */
final class Work {
    /** The statements of one database transaction. */
    interface Body {
        void run(Work work) throws SQLException;
    }

    private final Instance instance;
    private final Settings settings;
    private final Counters counters;
    private Connection connection;
    private int queries;
    final ThreadLocalRandom random = ThreadLocalRandom.current();

    Work(Instance instance, Settings settings, Counters counters) {
        this.instance = instance;
        this.settings = settings;
        this.counters = counters;
    }

    /** Return how many queries it has sent. */
    int queries() {
        return queries;
    }

    Sizes sizes() {
        return instance.sizes();
    }

    /** Run statements in a transaction of their own, on a connection of the pool. */
    void inTransaction(Body body) throws SQLException {
        connection = instance.connect();
        boolean isKept = false;
        try {
            if (chance(settings.abort())) {
                ignoreError();
            }
            body.run(this);
            pause(settings.holdMs());
            commit();
            isKept = chance(settings.leak()) && instance.leak(connection);
        } finally {
            if (!isKept) {
                // The pool rolls back what is open.
                connection.close();
            }
        }
    }

    /** Let the time pass that the customer or another service takes; no connection is held. */
    void think() {
        pause(settings.thinkMs());
    }

    /** Return a random id of 1 to `count`. */
    long id(long count) {
        return random.nextLong(Math.max(count, 1)) + 1;
    }

    /** Return different random ids, the smallest first: rows are locked in this order, so that nobody deadlocks. */
    long[] ids(int number, long count) {
        return random.longs(1, Math.max(count, number) + 1).distinct().limit(number).sorted().toArray();
    }

    /** Run a SELECT, and return the first column of each row. */
    List<Long> select(String sql, Object... values) throws SQLException {
        count();
        try (PreparedStatement statement = prepare(sql, values); ResultSet rows = statement.executeQuery()) {
            List<Long> found = new ArrayList<>();
            while (rows.next()) {
                found.add(rows.getLong(1));
            }
            return found;
        }
    }

    /** Run an INSERT or UPDATE. */
    void change(String sql, Object... values) throws SQLException {
        count();
        try (PreparedStatement statement = prepare(sql, values)) {
            statement.executeUpdate();
        }
    }

    private void count() {
        queries++;
        counters.queries.increment();
    }

    private PreparedStatement prepare(String sql, Object... values) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int place = 0; place < values.length; place++) {
            statement.setObject(place + 1, values[place]);
        }
        return statement;
    }

    private void commit() throws SQLException {
        try {
            connection.commit();
        } catch (SQLException error) {
            if (Failure.isLost(error.getSQLState())) {
                throw new UnknownOutcome(error);
            }
            throw error;
        }
        counters.transactions.increment();
    }

    /** Do what a program does that notices an error late: its transaction stays open until then, aborted. */
    private void ignoreError() throws SQLException {
        try {
            select("SELECT 1 / (SELECT 0)");
        } catch (SQLException error) {
            if (Failure.isLost(error.getSQLState())) {
                throw error;
            }
            sleep((long) (settings.abortS() * 1000));
            throw error;
        }
    }

    private boolean chance(double share) {
        return share > 0 && random.nextDouble() < share;
    }

    private void pause(double meanMs) {
        if (meanMs > 0) {
            // Independent pauses are exponential; ten times the mean is once in 22,000.
            sleep((long) Math.min(-Math.log(1 - random.nextDouble()) * meanMs, 10 * meanMs));
        }
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    /** The connection was lost during COMMIT. */
    static final class UnknownOutcome extends SQLException {
        private static final long serialVersionUID = 1L;

        UnknownOutcome(SQLException cause) {
            super(cause.getMessage(), cause.getSQLState(), cause);
        }
    }
}
