-- What was delivered and what could not be used, by organisation, month, kind of file and reason. Duplicates are one
-- reason, whichever line they repeat, and so are beneficiaries that a newer delivery superseded. There is no unique index: reasons may be missing, so it is refreshed as a whole.
CREATE MATERIALIZED VIEW claims.data_quality AS
SELECT file.organisation, file.month, file.kind, reason, sum(found.lines) AS lines,
       sum(file.records) AS records, round(sum(found.lines) / nullif(sum(file.records), 0), 6) AS share
  FROM claims.files AS file
  LEFT JOIN (SELECT file_id, CASE WHEN reason LIKE 'duplicate %' THEN 'duplicate'
                                     WHEN reason LIKE 'superseded %' THEN 'superseded'
                                     ELSE reason END AS reason,
                    count(*) AS lines
               FROM claims.quarantine
              GROUP BY 1, 2) AS found USING (file_id)
 GROUP BY file.organisation, file.month, file.kind, reason
  WITH NO DATA;
