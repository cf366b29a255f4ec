-- Simulated data; three parameters: customers, products and orders. The same numbers give the same rows.
INSERT INTO customers (customer_id, name, email, country)
SELECT n, 'Customer ' || n, 'customer' || n || '@example.org', (ARRAY['DE', 'FR', 'IN', 'SG', 'US'])[n %% 5 + 1]
FROM generate_series(1, %(customers)s) n;
INSERT INTO addresses (address_id, customer_id, street, city, postcode)
SELECT n, n, 'Street ' || n %% 997, 'City ' || n %% 97, lpad((n * 7919 %% 100000)::text, 5, '0')
FROM generate_series(1, %(customers)s) n;
INSERT INTO loyalty (customer_id, points, tier)
SELECT n, n %% 1000, (ARRAY['basic', 'silver', 'gold'])[n %% 3 + 1] FROM generate_series(1, %(customers)s) n;
INSERT INTO carts (customer_id, items) SELECT n, n %% 4 FROM generate_series(1, %(customers)s) n;
INSERT INTO products (product_id, sku, name, category_id, weight_g)
SELECT n, 'SKU-' || n, 'Product ' || n, n %% greatest(%(products)s / 50, 1) + 1, n * 37 %% 5000 + 50
FROM generate_series(1, %(products)s) n;
INSERT INTO prices (product_id, cents, currency)
SELECT n, n * 101 %% 20000 + 99, 'EUR' FROM generate_series(1, %(products)s) n;
INSERT INTO stock (product_id, on_hand, reserved) SELECT n, 100000, 0 FROM generate_series(1, %(products)s) n;
INSERT INTO orders (order_id, customer_id, status, cents)
SELECT n, n::bigint * 7919 %% %(customers)s + 1, 'paid', n * 31 %% 30000 + 500 FROM generate_series(1, %(orders)s) n;
INSERT INTO order_lines (order_id, line_no, product_id, quantity, cents)
SELECT n, line, (n::bigint * 104729 + line * 7) %% %(products)s + 1, 1, n * 31 %% 10000 + 100
FROM generate_series(1, %(orders)s) n, generate_series(1, 3) line;
INSERT INTO payments (order_id, method, status, cents)
SELECT n, 'card', 'paid', n * 31 %% 30000 + 500 FROM generate_series(1, %(orders)s) n;
INSERT INTO shipments (order_id, carrier, status) SELECT n, 'post', 'sent' FROM generate_series(1, %(orders)s) n;
INSERT INTO order_events (order_id, kind) SELECT n, 'placed' FROM generate_series(1, %(orders)s) n;
SELECT setval(pg_get_serial_sequence('orders', 'order_id'), %(orders)s);
