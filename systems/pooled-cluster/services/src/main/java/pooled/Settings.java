package pooled;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** What can be changed while a service runs. Shares are 0 to 1; times have their unit in the name. */
record Settings(
        /** Business transactions that arrive per second, at all instances together. */
        double rate,
        /** Connections of each instance's pool, at most. */
        int pool,
        /** Idle connections that a pool keeps; -1 for as many as the pool may have (HikariCP's default). */
        int minIdle,
        /** Requests that an instance serves at once; 0 for twice its pool. */
        int threads,
        /** Requests that wait in an instance for a thread; more are refused. */
        int queue,
        /** For how long a client waits for an answer. The service does not notice that it has left. */
        double answerS,
        /** What a client does after a failure: none, immediate or backoff. */
        String retry,
        /** How often it tries again, at most. */
        int retries,
        /** Mean time between the database transactions of a business transaction; no connection is held. */
        double thinkMs,
        /** Mean time that a database transaction stays open after its last statement. */
        double holdMs,
        /** Share of database transactions whose connection is never given back. */
        double leak,
        /** Share of database transactions in which a failed statement is noticed late. */
        double abort,
        /** For how long such an aborted transaction stays open. */
        double abortS,
        /** For how long a request waits for a connection of the pool. */
        double connectionTimeoutS,
        /** After this time a pool closes a connection that it does not need; 0 for never. */
        double idleTimeoutS,
        /** After this time a pool replaces a connection. */
        double maxLifetimeS) {

    // Before the defaults, which are checked against it.
    private static final Set<String> RETRIES = Set.of("none", "immediate", "backoff");
    static final Settings DEFAULTS =
            new Settings(0, 10, -1, 0, 100, 30, "none", 3, 0, 0, 0, 0, 30, 30, 600, 1800);

    Settings {
        require(rate >= 0 && rate <= 100_000, "rate must be 0 to 100,000 per second");
        require(pool >= 1 && pool <= 10_000, "pool must be 1 to 10,000 connections");
        require(minIdle >= -1 && minIdle <= 10_000, "min_idle must be -1 to 10,000 connections");
        require(threads >= 0 && threads <= 10_000, "threads must be 0 to 10,000");
        require(queue >= 1 && queue <= 100_000, "queue must be 1 to 100,000 requests");
        require(answerS > 0 && answerS <= 3600, "answer_s must be above 0, and at most 3,600");
        require(RETRIES.contains(retry), "retry must be none, immediate or backoff");
        require(retries >= 0 && retries <= 1000, "retries must be 0 to 1,000");
        require(thinkMs >= 0 && thinkMs <= 3_600_000, "think_ms must be 0 to 3,600,000");
        require(holdMs >= 0 && holdMs <= 3_600_000, "hold_ms must be 0 to 3,600,000");
        require(leak >= 0 && leak <= 1, "leak must be a share of 0 to 1");
        require(abort >= 0 && abort <= 1, "abort must be a share of 0 to 1");
        require(abortS >= 0 && abortS <= 3600, "abort_s must be 0 to 3,600");
        // The lower bounds are HikariCP's own.
        require(connectionTimeoutS >= 0.25 && connectionTimeoutS <= 3600,
                "connection_timeout_s must be 0.25 to 3,600");
        require(idleTimeoutS == 0 || idleTimeoutS >= 10 && idleTimeoutS <= 86_400,
                "idle_timeout_s must be 0, or 10 to 86,400");
        require(maxLifetimeS >= 30 && maxLifetimeS <= 86_400, "max_lifetime_s must be 30 to 86,400");
    }

    /** Return these settings with some replaced; the names are those of `asMap`. */
    Settings with(Map<String, Object> changes) {
        Map<String, Object> all = asMap();
        for (Map.Entry<String, Object> change : changes.entrySet()) {
            Object current = all.get(change.getKey());
            require(current != null, "there is no setting '" + change.getKey() + "'");
            require(current instanceof String ? change.getValue() instanceof String : change.getValue() instanceof Number,
                    change.getKey() + " must be a " + (current instanceof String ? "word" : "number"));
            require(!(current instanceof Integer) || change.getValue() instanceof Integer,
                    change.getKey() + " must be a whole number");
            all.put(change.getKey(), change.getValue());
        }
        return new Settings(
                number(all, "rate"), whole(all, "pool"), whole(all, "min_idle"), whole(all, "threads"),
                whole(all, "queue"), number(all, "answer_s"), (String) all.get("retry"),
                whole(all, "retries"), number(all, "think_ms"), number(all, "hold_ms"),
                number(all, "leak"), number(all, "abort"), number(all, "abort_s"),
                number(all, "connection_timeout_s"), number(all, "idle_timeout_s"),
                number(all, "max_lifetime_s"));
    }

    /** Return the settings by the names that clients give them. */
    Map<String, Object> asMap() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("rate", rate);
        all.put("pool", pool);
        all.put("min_idle", minIdle);
        all.put("threads", threads);
        all.put("queue", queue);
        all.put("answer_s", answerS);
        all.put("retry", retry);
        all.put("retries", retries);
        all.put("think_ms", thinkMs);
        all.put("hold_ms", holdMs);
        all.put("leak", leak);
        all.put("abort", abort);
        all.put("abort_s", abortS);
        all.put("connection_timeout_s", connectionTimeoutS);
        all.put("idle_timeout_s", idleTimeoutS);
        all.put("max_lifetime_s", maxLifetimeS);
        return all;
    }

    /** Return how many requests an instance serves at once. */
    int threadCount() {
        return threads > 0 ? threads : 2 * pool;
    }

    /** Return how many idle connections a pool keeps. */
    int idleCount() {
        return minIdle < 0 ? pool : Math.min(minIdle, pool);
    }

    private static double number(Map<String, Object> all, String name) {
        return ((Number) all.get(name)).doubleValue();
    }

    private static int whole(Map<String, Object> all, String name) {
        return ((Number) all.get(name)).intValue();
    }

    private static void require(boolean isSo, String otherwise) {
        if (!isSo) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
