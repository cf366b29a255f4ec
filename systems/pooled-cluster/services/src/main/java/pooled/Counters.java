package pooled;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.distribution.CountAtBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What a service has counted since it was started. */
final class Counters {
    // From 1 ms to 2 minutes, in steps of about a quarter: a percentile is right to 12 %.
    private static final double FIRST_S = 0.001;
    private static final double STEP = 1.25;
    private static final int STEPS = 53;

    final Counter arrivals;
    final Counter attempts;
    final Counter late;
    final Counter retries;
    final Counter queries;
    final Counter usefulQueries;
    final Counter transactions;
    final Counter opened;
    final Counter closed;
    final Counter published;
    final Counter consumed;
    private final Map<Failure, Counter> failed = new EnumMap<>(Failure.class);
    private final Map<Failure, Counter> faults = new EnumMap<>(Failure.class);
    private final Map<Failure, Counter> unopened = new EnumMap<>(Failure.class);
    private final Map<Failure, String> lastErrors = new java.util.concurrent.ConcurrentHashMap<>();
    private final Timer latency;

    Counters(MeterRegistry registry) {
        arrivals = Counter.builder("orders.arrivals").register(registry);
        attempts = Counter.builder("orders.attempts").register(registry);
        late = Counter.builder("orders.late").register(registry);
        retries = Counter.builder("orders.retries").register(registry);
        queries = Counter.builder("orders.queries").register(registry);
        usefulQueries = Counter.builder("orders.queries.useful").register(registry);
        transactions = Counter.builder("orders.database.transactions").register(registry);
        opened = Counter.builder("orders.connections.opened").register(registry);
        closed = Counter.builder("orders.connections.closed").register(registry);
        published = Counter.builder("orders.events.published").register(registry);
        consumed = Counter.builder("orders.events.consumed").register(registry);
        for (Failure reason : Failure.values()) {
            failed.put(reason, of(registry, "orders.failed", reason));
            faults.put(reason, of(registry, "orders.attempts.failed", reason));
            unopened.put(reason, of(registry, "orders.connections.failed", reason));
        }
        latency = Timer.builder("orders.latency").serviceLevelObjectives(bounds()).register(registry);
    }

    /** Count a business transaction that was done in time: its latency, from its arrival on, and its queries. */
    void done(long nanoseconds, int queries) {
        usefulQueries.increment(queries);
        latency.record(nanoseconds, TimeUnit.NANOSECONDS);
    }

    /** Count a business transaction that was given up. */
    void failed(Failure reason) {
        failed.get(reason).increment();
    }

    /** Count an attempt that failed; it may be tried again. */
    void fault(Failure reason, String error) {
        faults.get(reason).increment();
        if (error != null) {
            lastErrors.put(reason, error);
        }
    }

    /** Count a connection that could not be opened. */
    void unopened(Failure reason, String error) {
        unopened.get(reason).increment();
        lastErrors.put(reason, error);
    }

    /** Return everything, as it is written in JSON. */
    Map<String, Object> asMap() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("arrivals", whole(arrivals));
        all.put("attempts", whole(attempts));
        all.put("done", latency.count());
        all.put("failed", byReason(failed));
        all.put("attempts_failed", byReason(faults));
        all.put("late", whole(late));
        all.put("retries", whole(retries));
        all.put("queries", whole(queries));
        all.put("queries_useful", whole(usefulQueries));
        all.put("transactions", whole(transactions));
        all.put("connections_opened", whole(opened));
        all.put("connections_closed", whole(closed));
        all.put("connections_failed", byReason(unopened));
        all.put("events_published", whole(published));
        all.put("events_consumed", whole(consumed));
        all.put("latency_s_sum", latency.totalTime(TimeUnit.SECONDS));
        List<Object> bounds = new ArrayList<>();
        List<Object> counts = new ArrayList<>();
        for (CountAtBucket bucket : latency.takeSnapshot().histogramCounts()) {
            bounds.add(bucket.bucket(TimeUnit.NANOSECONDS) / 1e9);
            counts.add((long) bucket.count());
        }
        all.put("latency_s_bounds", bounds);
        all.put("latency_counts", counts);
        Map<String, Object> errors = new LinkedHashMap<>();
        lastErrors.forEach((reason, text) -> errors.put(reason.label(), text));
        all.put("last_errors", errors);
        return all;
    }

    private static Counter of(MeterRegistry registry, String name, Failure reason) {
        return Counter.builder(name).tag("reason", reason.label()).register(registry);
    }

    private static Map<String, Object> byReason(Map<Failure, Counter> counters) {
        Map<String, Object> found = new LinkedHashMap<>();
        counters.forEach((reason, counter) -> {
            if (counter.count() > 0) {
                found.put(reason.label(), whole(counter));
            }
        });
        return found;
    }

    private static long whole(Counter counter) {
        return (long) counter.count();
    }

    private static Duration[] bounds() {
        Duration[] found = new Duration[STEPS];
        for (int step = 0; step < STEPS; step++) {
            found[step] = Duration.ofNanos((long) (FIRST_S * 1e9 * Math.pow(STEP, step)));
        }
        return found;
    }
}
