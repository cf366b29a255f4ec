package pooled;

import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.Locale;

/** Why a business transaction, or an attempt to connect, failed. */
enum Failure {
    /** The instance's queue was full. */
    REFUSED,
    /** The client had waited long enough. */
    NO_ANSWER,
    /** All connections of the pool were taken for too long. */
    POOL_TIMEOUT,
    /** The server or the pooler in front has no room for another connection. */
    TOO_MANY_CLIENTS,
    /** The connection was lost, or could not be opened. */
    CONNECTION,
    /** The connection was lost during COMMIT: whether it took effect is unknown. */
    UNKNOWN_OUTCOME,
    /** A write reached a server that only reads. */
    READ_ONLY,
    /** A deadlock, or a serialization failure. */
    CONFLICT,
    OTHER;

    private static final String FULL = "53300";
    private static final String READ_ONLY_TRANSACTION = "25006";

    /** Return the name that clients see, for example `too_many_clients`. */
    String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Return the reason for an error of JDBC, or of the pool. */
    static Failure of(Throwable error) {
        boolean isPool = false;
        for (Throwable one = error; one != null; one = one.getCause()) {
            if (!(one instanceof SQLException)) {
                continue;
            }
            String state = ((SQLException) one).getSQLState();
            String text = String.valueOf(one.getMessage());
            // Pgpool-II refuses with "Sorry, too many clients already", PgBouncer with "no more connections allowed".
            if (FULL.equals(state) || text.contains("too many clients")
                    || text.contains("no more connections allowed")) {
                return TOO_MANY_CLIENTS;
            }
            if (one instanceof SQLTransientConnectionException && state == null) {
                isPool = true;
            } else if (state == null) {
                continue;
            } else if (READ_ONLY_TRANSACTION.equals(state)) {
                return READ_ONLY;
            } else if (state.startsWith("40")) {
                return CONFLICT;
            } else if (isLost(state)) {
                // Also of a pool that gave up because it could not connect: HikariCP passes the cause on.
                return CONNECTION;
            }
        }
        return isPool ? POOL_TIMEOUT : OTHER;
    }

    /** Return whether an SQLSTATE says that there is no connection (any more). */
    static boolean isLost(String state) {
        return state != null
                && (state.startsWith("08") || state.startsWith("57P") || state.startsWith("58"));
    }
}
