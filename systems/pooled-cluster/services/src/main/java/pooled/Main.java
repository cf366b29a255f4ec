package pooled;

import com.fasterxml.jackson.jr.ob.JSON;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.Executors;

/**
 * Runs one service.
 *
 * <p>The first line of standard input is its configuration in JSON; the password is there, and not in the list of
 * processes. The first line of standard output is the port of its HTTP server. When standard input ends, whoever
 * started it is gone, and it ends at once.
 *
 * <p>GET /state: counters, connections and settings. GET /metrics: the same and HikariCP's, for Prometheus. POST
 * /settings: a JSON object with the settings to change; POST /NAME with a value changes one, for example /rate.
 */
public final class Main {
    private static final String HOST = "127.0.0.1";

    private Main() {}

    public static void main(String[] words) throws IOException {
        try {
            run();
        } catch (IllegalArgumentException | IllegalStateException error) {
            System.err.println("error: " + error.getMessage());
            Runtime.getRuntime().halt(2);
        }
    }

    private static void run() throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Map<String, Object> config = JSON.std.mapFrom(input.readLine());
        @SuppressWarnings("unchecked")
        Map<String, Object> given = (Map<String, Object>) config.get("settings");
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        registry.config().commonTags("service", (String) config.get("name"));
        Service service = new Service(config, Settings.DEFAULTS.with(given), registry);
        if (config.get("kind").equals("notification")) {
            Thread thread = new Thread(new Consumer(config, service), "consumer");
            thread.setDaemon(true);
            thread.start();
        }
        HttpServer server = HttpServer.create(new InetSocketAddress(HOST, 0), 0);
        server.createContext("/", exchange -> answer(exchange, service, registry));
        server.setExecutor(Executors.newSingleThreadExecutor());
        server.start();
        System.out.println(server.getAddress().getPort());
        System.out.flush();
        while (input.readLine() != null) {
            // Only the end of the input means something.
        }
        Runtime.getRuntime().halt(0);
    }

    private static void answer(HttpExchange exchange, Service service, PrometheusMeterRegistry registry)
            throws IOException {
        String path = exchange.getRequestURI().getPath().substring(1);
        try {
            if (exchange.getRequestMethod().equals("POST")) {
                Object value = JSON.std.anyFrom(exchange.getRequestBody().readAllBytes());
                service.set(service.settings().with(changes(path, value)));
                send(exchange, 200, "application/json", JSON.std.asString(service.settings().asMap()));
            } else if (path.equals("state")) {
                send(exchange, 200, "application/json", JSON.std.asString(service.state()));
            } else if (path.equals("metrics")) {
                send(exchange, 200, "text/plain; version=0.0.4", registry.scrape());
            } else {
                send(exchange, 404, "text/plain", "there is no '" + path + "'\n");
            }
        } catch (IOException | IllegalArgumentException error) {
            send(exchange, 400, "text/plain", error.getMessage() + "\n");
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> changes(String path, Object value) {
        if (!path.equals("settings")) {
            return Map.of(path, value == null ? "" : value);
        }
        if (!(value instanceof Map)) {
            throw new IllegalArgumentException("settings must be a JSON object");
        }
        return (Map<String, Object>) value;
    }

    private static void send(HttpExchange exchange, int status, String kind, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", kind);
        exchange.sendResponseHeaders(status, bytes.length);
        try (exchange) {
            exchange.getResponseBody().write(bytes);
        }
    }
}
