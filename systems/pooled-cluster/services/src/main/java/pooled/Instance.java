package pooled;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import io.micrometer.core.instrument.MeterRegistry;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** One container of a service: threads that serve requests, a queue before them, and a pool of its own. */
final class Instance {
    private static final long SHRINK_MS = 60_000;
    // Soon for whoever looks at the pool, and no load for hundreds of pools.
    private static final long SHRINK_REST_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private final String name;
    private final HikariDataSource pool;
    private final ThreadPoolExecutor threads;
    private final List<Connection> leaked = new CopyOnWriteArrayList<>();
    private final Object shrinking = new Object();
    private volatile Settings settings;
    private volatile Sizes sizes;

    Instance(String name, Map<String, Object> target, Settings settings, Counters counters, MeterRegistry registry) {
        this.name = name;
        this.settings = settings;
        HikariConfig config = new HikariConfig();
        config.setDataSource(new Target(target, name, counters));
        config.setPoolName(name);
        config.setAutoCommit(false);
        // A service starts whether or not its database answers.
        config.setInitializationFailTimeout(-1);
        config.setMetricRegistry(registry);
        config.setMaximumPoolSize(settings.pool());
        config.setMinimumIdle(settings.idleCount());
        config.setConnectionTimeout(ms(settings.connectionTimeoutS()));
        config.setIdleTimeout(ms(settings.idleTimeoutS()));
        config.setMaxLifetime(ms(settings.maxLifetimeS()));
        config.setKeepaliveTime(0);
        pool = new HikariDataSource(config);
        int count = settings.threadCount();
        threads = new ThreadPoolExecutor(
                count, count, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                    Thread thread = new Thread(null, task, name, 0);
                    thread.setDaemon(true);
                    return thread;
                });
        threads.allowCoreThreadTimeOut(true);
    }

    /** Take a request; return false if the queue is full. */
    boolean offer(Runnable request) {
        // The queue of the executor has no bound of its own, because the setting can change.
        if (threads.getQueue().size() >= settings.queue()) {
            return false;
        }
        try {
            threads.execute(request);
            return true;
        } catch (RejectedExecutionException error) {
            return false;
        }
    }

    Connection connect() throws SQLException {
        Connection connection = pool.getConnection();
        if (sizes == null) {
            sizes = Sizes.of(connection);
        }
        return connection;
    }

    /** Return how large the data is; known once a connection was there. */
    Sizes sizes() {
        return sizes;
    }

    /** Keep a connection for good, as a program does that forgets to close it; return false if it was repaired. */
    synchronized boolean leak(Connection connection) {
        return settings.leak() > 0 && leaked.add(connection);
    }

    synchronized void set(Settings changed) {
        Settings before = settings;
        settings = changed;
        int count = changed.threadCount();
        if (count > threads.getMaximumPoolSize()) {
            threads.setMaximumPoolSize(count);
            threads.setCorePoolSize(count);
        } else {
            threads.setCorePoolSize(count);
            threads.setMaximumPoolSize(count);
        }
        pool.setConnectionTimeout(ms(changed.connectionTimeoutS()));
        pool.setIdleTimeout(ms(changed.idleTimeoutS()));
        pool.setMaxLifetime(ms(changed.maxLifetimeS()));
        pool.setMaximumPoolSize(changed.pool());
        pool.setMinimumIdle(changed.idleCount());
        if (changed.pool() < before.pool()) {
            Thread thread = new Thread(this::shrink, name + "-shrink");
            thread.setDaemon(true);
            thread.start();
        }
        if (changed.leak() == 0 && before.leak() > 0) {
            repair();
        }
    }

    /** Add to the numbers of all instances: active, idle, waiting, total, leaked, in service and queued. */
    void addTo(long[] numbers) {
        HikariPoolMXBean now = pool.getHikariPoolMXBean();
        numbers[0] += now.getActiveConnections();
        numbers[1] += now.getIdleConnections();
        numbers[2] += now.getThreadsAwaitingConnection();
        numbers[3] += now.getTotalConnections();
        numbers[4] += leaked.size();
        numbers[5] += threads.getActiveCount();
        numbers[6] += threads.getQueue().size();
    }

    /**
     * Close connections that the pool may no longer have; HikariCP itself closes them only when they are old.
     *
     * <p>It goes on for a minute, because a connection that is being opened meanwhile still comes.
     */
    private void shrink() {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(SHRINK_MS);
        while (System.nanoTime() < end) {
            try {
                if (!closeOneTooMany()) {
                    LockSupport.parkNanos(SHRINK_REST_NS);
                }
            } catch (SQLException error) {
                // All were busy for as long as a request waits: try again.
            }
        }
    }

    /** Close a connection if the pool has too many; one thread at a time, else two close one more than that. */
    private boolean closeOneTooMany() throws SQLException {
        synchronized (shrinking) {
            if (pool.getHikariPoolMXBean().getTotalConnections() <= settings.pool()) {
                return false;
            }
            pool.evictConnection(pool.getConnection());
            return true;
        }
    }

    /** Give back what was leaked, as the restart of a container does. */
    private void repair() {
        for (Connection connection : leaked) {
            leaked.remove(connection);
            try {
                connection.close();
            } catch (SQLException error) {
                // It was lost since; the pool has dropped it.
            }
        }
    }

    private static long ms(double seconds) {
        return Math.round(seconds * 1000);
    }
}
