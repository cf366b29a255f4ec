"""Lakes: ingest metrics, judge every instance, explain one."""
