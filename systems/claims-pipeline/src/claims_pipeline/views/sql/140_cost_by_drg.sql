-- What stays in hospital cost, by diagnosis-related group.
CREATE MATERIALIZED VIEW claims.cost_by_drg AS
SELECT organisation, stay.drg, count(*) AS stays, sum(paid_usd) AS paid_usd, round(avg(paid_usd), 2) AS paid_usd_mean,
       round(avg(days), 2) AS days_mean,
       round(avg(readmission.is_readmitted::int), 4) AS readmitted_share
  FROM claims.inpatient_stays AS stay
  LEFT JOIN claims.readmissions AS readmission USING (organisation, bene_mbi_id, admitted_on)
 WHERE stay.drg IS NOT NULL
 GROUP BY organisation, stay.drg
  WITH NO DATA;
CREATE UNIQUE INDEX cost_by_drg_key ON claims.cost_by_drg (organisation, drg);
