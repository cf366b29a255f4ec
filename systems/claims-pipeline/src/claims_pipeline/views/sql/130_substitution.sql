-- How often a pharmacy was free to give the generic drug. CCLF7 does not say which drugs are generic; it has the code
-- "dispense as written": 1 and 2 demand the brand, for the prescriber and for the patient.
CREATE MATERIALIZED VIEW claims.substitution AS
SELECT organisation, date_trunc('month', clm_line_from_dt)::date AS month, count(*) AS fills,
       count(*) FILTER (WHERE clm_daw_prod_slctn_cd = '1') AS brand_for_prescriber,
       count(*) FILTER (WHERE clm_daw_prod_slctn_cd = '2') AS brand_for_patient,
       round(1 - count(*) FILTER (WHERE clm_daw_prod_slctn_cd IN ('1', '2'))::numeric / count(*), 4) AS free_share
  FROM claims.final_part_d_events
 WHERE clm_line_from_dt IS NOT NULL
 GROUP BY organisation, date_trunc('month', clm_line_from_dt)
  WITH NO DATA;
CREATE UNIQUE INDEX substitution_key ON claims.substitution (organisation, month);
