package pooled;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Reads placed orders from Kafka, and notifies their customers; five queries for each.
 *
 * <p>Rule: an event is committed to Kafka after its database transaction, and tried until it succeeds. It may be handled
 * twice, never lost.
 */
final class Consumer implements Runnable {
    private static final Duration POLL = Duration.ofMillis(500);
    private static final long PAUSE_MS = 200;
    private static final int PARTITIONS = 3;
    private static final int WAIT_MS = 10_000;

    private final Service service;
    private final KafkaConsumer<String, String> consumer;

    Consumer(Map<String, Object> config, Service service) {
        this.service = service;
        Properties settings = new Properties();
        settings.put("bootstrap.servers", config.get("kafka"));
        settings.put("group.id", "notification");
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("max.poll.records", "100");
        // The partitions of a consumer that was killed wait for so long; the default is 45 s.
        settings.put("session.timeout.ms", "10000");
        createTopic(config.get("kafka"));
        consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    /** Create the topic, if it is not there. */
    private static void createTopic(Object broker) {
        try (Admin admin = Admin.create(
                Map.of("bootstrap.servers", broker, "default.api.timeout.ms", WAIT_MS, "request.timeout.ms", WAIT_MS))) {
            admin.createTopics(List.of(new NewTopic(Events.TOPIC, PARTITIONS, (short) 1))).all().get();
        } catch (ExecutionException error) {
            if (!(error.getCause() instanceof TopicExistsException)) {
                throw new IllegalStateException("Kafka at " + broker + " does not answer", error);
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void run() {
        consumer.subscribe(List.of(Events.TOPIC));
        while (!Thread.currentThread().isInterrupted()) {
            try {
                for (ConsumerRecord<String, String> event : consumer.poll(POLL)) {
                    handle(event.value());
                }
                consumer.commitSync();
            } catch (WakeupException error) {
                return;
            } catch (RuntimeException error) {
                service.counters.fault(Failure.OTHER, error.getMessage());
                rest();
            }
        }
    }

    private void handle(String event) {
        String[] words = event.split(",");
        long order = Long.parseLong(words[0]);
        long customer = Long.parseLong(words[1]);
        while (true) {
            try {
                new Work(service.first(), service.settings(), service.counters)
                        .inTransaction(work -> tell(work, order, customer));
                service.counters.consumed.increment();
                return;
            } catch (SQLException error) {
                service.counters.fault(Failure.of(error), error.getMessage());
                rest();
            }
        }
    }

    private static void tell(Work work, long order, long customer) throws SQLException {
        work.select("SELECT order_id, status, cents FROM orders WHERE order_id = ?", order);
        work.select("SELECT customer_id, name, email FROM customers WHERE customer_id = ?", customer);
        work.change(
                "INSERT INTO notifications (customer_id, order_id, channel) VALUES (?, ?, 'mail')", customer, order);
        work.change("INSERT INTO order_events (order_id, kind) VALUES (?, 'notified')", order);
        work.change("UPDATE customers SET last_seen_at = now() WHERE customer_id = ?", customer);
    }

    private static void rest() {
        try {
            Thread.sleep(PAUSE_MS);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }
}
