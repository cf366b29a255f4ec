package pooled;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * One service with its instances, and its clients.
 *
 * <p>Rule 1: arrivals are open-loop: they come at the rate, whether or not earlier ones are done. Rule 2: latency begins
 * when a business transaction arrives, not when it is served. Rule 3: a client that has waited long enough leaves, and
 * the service does not notice.
 */
final class Service {
    private static final String[] NUMBERS = {
        "active", "idle", "waiting", "connections", "leaked", "in_service", "queued"
    };
    // An immediate retry takes a round trip of a network.
    private static final double IMMEDIATE_MS = 5;
    // Exponential back-off with full jitter, from 100 ms up to 20 s.
    private static final double BACKOFF_FIRST_MS = 100;
    private static final double BACKOFF_MOST_MS = 20_000;
    private static final long REST_NS = TimeUnit.MILLISECONDS.toNanos(5);

    final Counters counters;
    private final List<Instance> instances = new ArrayList<>();
    private final Transaction transaction;
    private final Events events;
    private final ScheduledThreadPoolExecutor clients;
    private volatile Settings settings;

    Service(Map<String, Object> config, Settings settings, MeterRegistry registry) {
        this.settings = settings;
        counters = new Counters(registry);
        events = Events.of(config, counters);
        String name = (String) config.get("name");
        transaction = Transaction.of((String) config.get("kind"), events);
        for (int number = 1; number <= ((Number) config.get("instances")).intValue(); number++) {
            instances.add(new Instance(name + "-" + number, config, settings, counters, registry));
        }
        for (int place = 0; place < NUMBERS.length; place++) {
            int at = place;
            Gauge.builder("orders.now." + NUMBERS[at].replace('_', '.'), () -> numbers()[at]).register(registry);
        }
        clients = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "clients");
            thread.setDaemon(true);
            return thread;
        });
        clients.setRemoveOnCancelPolicy(true);
        Thread thread = new Thread(this::arrive, "arrivals");
        thread.setDaemon(true);
        thread.start();
    }

    Settings settings() {
        return settings;
    }

    synchronized void set(Settings changed) {
        settings = changed;
        instances.forEach(instance -> instance.set(changed));
    }

    /** Return what was counted, and what is so now. */
    Map<String, Object> state() {
        Map<String, Object> found = counters.asMap();
        long[] numbers = numbers();
        Map<String, Object> now = new LinkedHashMap<>();
        for (int place = 0; place < NUMBERS.length; place++) {
            now.put(NUMBERS[place], numbers[place]);
        }
        found.put("now", now);
        found.put("settings", settings.asMap());
        return found;
    }

    /** Return an instance of the service, for work that does not come from clients. */
    Instance first() {
        return instances.get(0);
    }

    private long[] numbers() {
        long[] found = new long[NUMBERS.length];
        instances.forEach(instance -> instance.addTo(found));
        return found;
    }

    /** Let business transactions arrive at the rate, with independent gaps (a Poisson process). */
    private void arrive() {
        long due = System.nanoTime();
        double rate = 0;
        while (true) {
            double wanted = settings.rate();
            if (wanted != rate || wanted == 0) {
                due = System.nanoTime() + gap(wanted);
                rate = wanted;
            }
            long left = due - System.nanoTime();
            if (rate == 0 || left > 0) {
                LockSupport.parkNanos(rate == 0 ? REST_NS : Math.min(left, REST_NS));
                continue;
            }
            counters.arrivals.increment();
            attempt(new Arrival(due));
            due += gap(rate);
        }
    }

    private static long gap(double rate) {
        return rate == 0 ? 0 : (long) (-Math.log(1 - ThreadLocalRandom.current().nextDouble()) / rate * 1e9);
    }

    private void attempt(Arrival arrival) {
        counters.attempts.increment();
        Attempt attempt = new Attempt(arrival);
        Settings now = settings;
        Instance instance = instances.get(ThreadLocalRandom.current().nextInt(instances.size()));
        // The client's patience begins before the instance can answer.
        attempt.patience = clients.schedule(
                () -> attempt.end(Failure.NO_ANSWER, null), (long) (now.answerS() * 1e9), TimeUnit.NANOSECONDS);
        if (!instance.offer(() -> serve(attempt, instance))) {
            attempt.end(Failure.REFUSED, null);
        }
    }

    private void serve(Attempt attempt, Instance instance) {
        Work work = new Work(instance, settings, counters);
        try {
            transaction.run(work);
        } catch (Work.UnknownOutcome error) {
            attempt.end(Failure.UNKNOWN_OUTCOME, error.getMessage());
            return;
        } catch (SQLException | RuntimeException error) {
            attempt.end(Failure.of(error), error.getMessage());
            return;
        }
        attempt.succeed(work.queries());
    }

    /** A business transaction that a client wants. */
    private static final class Arrival {
        final long due;
        int attempts;

        Arrival(long due) {
            this.due = due;
        }
    }

    /** One attempt at it; it ends once, with an answer, an error or the client's patience. */
    private final class Attempt {
        private final Arrival arrival;
        private final AtomicInteger ends = new AtomicInteger();
        volatile Future<?> patience;

        Attempt(Arrival arrival) {
            this.arrival = arrival;
            arrival.attempts++;
        }

        void succeed(int queries) {
            if (isOver()) {
                // The work is done, but its client has left.
                counters.late.increment();
                return;
            }
            counters.done(System.nanoTime() - arrival.due, queries);
        }

        void end(Failure reason, String error) {
            if (isOver()) {
                return;
            }
            counters.fault(reason, error);
            Settings now = settings;
            if (now.retry().equals("none") || arrival.attempts > now.retries()) {
                counters.failed(reason);
                return;
            }
            counters.retries.increment();
            clients.schedule(() -> attempt(arrival), (long) (pauseMs(now) * 1e6), TimeUnit.NANOSECONDS);
        }

        private boolean isOver() {
            if (ends.getAndIncrement() > 0) {
                return true;
            }
            if (patience != null) {
                patience.cancel(false);
            }
            return false;
        }

        private double pauseMs(Settings now) {
            if (now.retry().equals("immediate")) {
                return IMMEDIATE_MS;
            }
            double most = Math.min(BACKOFF_FIRST_MS * Math.pow(2, arrival.attempts - 1), BACKOFF_MOST_MS);
            return ThreadLocalRandom.current().nextDouble() * most;
        }
    }
}
