"""What does Plimsoll send to a server? Every statement, by topic, and the terms on which it is sent."""
