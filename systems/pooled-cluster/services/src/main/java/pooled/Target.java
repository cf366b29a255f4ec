package pooled;

import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.postgresql.ds.PGSimpleDataSource;

/** Where connections go. Those that are opened, closed and refused are counted. */
final class Target implements DataSource {
    private final PGSimpleDataSource source = new PGSimpleDataSource();
    private final Counters counters;

    Target(Map<String, Object> config, String name, Counters counters) {
        this.counters = counters;
        source.setServerNames(new String[] {(String) config.get("host")});
        source.setPortNumbers(new int[] {((Number) config.get("port")).intValue()});
        source.setDatabaseName((String) config.get("database"));
        source.setUser((String) config.get("user"));
        source.setPassword((String) config.get("password"));
        source.setApplicationName(name);
        source.setSslmode("disable");
        source.setTcpKeepAlive(true);
        source.setConnectTimeout(((Number) config.get("connect_timeout_s")).intValue());
        source.setLoginTimeout(((Number) config.get("connect_timeout_s")).intValue());
        source.setSocketTimeout(((Number) config.get("socket_timeout_s")).intValue());
        source.setPrepareThreshold(((Number) config.get("prepare_threshold")).intValue());
    }

    @Override
    public Connection getConnection() throws SQLException {
        Connection real;
        try {
            real = source.getConnection();
        } catch (SQLException error) {
            counters.unopened(Failure.of(error), error.getMessage());
            throw error;
        }
        counters.opened.increment();
        return counted(real);
    }

    @Override
    public Connection getConnection(String user, String password) throws SQLException {
        throw new SQLFeatureNotSupportedException();
    }

    /** Return the connection; its end is counted once. */
    private Connection counted(Connection real) {
        AtomicBoolean isOpen = new AtomicBoolean(true);
        return (Connection) Proxy.newProxyInstance(
                Target.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, values) -> {
                    String name = method.getName();
                    if ((name.equals("close") || name.equals("abort")) && isOpen.getAndSet(false)) {
                        counters.closed.increment();
                    }
                    try {
                        return method.invoke(real, values);
                    } catch (InvocationTargetException error) {
                        throw error.getCause();
                    }
                });
    }

    @Override
    public PrintWriter getLogWriter() {
        return null;
    }

    @Override
    public void setLogWriter(PrintWriter out) {}

    @Override
    public void setLoginTimeout(int seconds) {}

    @Override
    public int getLoginTimeout() {
        return source.getLoginTimeout();
    }

    @Override
    public Logger getParentLogger() {
        return Logger.getLogger("pooled");
    }

    @Override
    public <T> T unwrap(Class<T> kind) throws SQLException {
        throw new SQLFeatureNotSupportedException();
    }

    @Override
    public boolean isWrapperFor(Class<?> kind) {
        return false;
    }
}
