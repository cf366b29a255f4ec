package pooled;

import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Tells the other services through Kafka what happened; nothing if there is no Kafka. */
interface Events {
    String TOPIC = "orders";

    /** Tell that an order was placed. */
    void placed(long order, long customer);

    /** Return the producer for the broker of a configuration. */
    static Events of(Map<String, Object> config, Counters counters) {
        Object broker = config.get("kafka");
        if (broker == null) {
            return (order, customer) -> {};
        }
        Properties settings = new Properties();
        settings.put("bootstrap.servers", broker);
        settings.put("acks", "all");
        settings.put("linger.ms", "20");
        // The default of 32 MiB would be half of a small heap.
        settings.put("buffer.memory", String.valueOf(4 << 20));
        // A broker that is away must not hold up a sale for long; the first one waits until the topic is known.
        settings.put("max.block.ms", "10000");
        KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        return (order, customer) -> producer.send(
                new ProducerRecord<>(TOPIC, String.valueOf(order), order + "," + customer), (sent, error) -> {
                    if (error == null) {
                        counters.published.increment();
                    } else {
                        counters.fault(Failure.OTHER, error.getMessage());
                    }
                });
    }
}
