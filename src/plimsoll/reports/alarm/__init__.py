"""How are alarms written for people, for CloudWatch and for Prometheus?"""
