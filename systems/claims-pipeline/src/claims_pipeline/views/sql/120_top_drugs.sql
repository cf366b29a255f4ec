-- The hundred drugs with most fills in each organisation, by national drug code.
CREATE MATERIALIZED VIEW claims.top_drugs AS
SELECT *
  FROM (SELECT organisation, clm_line_ndc_cd,
               row_number() OVER (PARTITION BY organisation ORDER BY count(*) DESC, clm_line_ndc_cd) AS place,
               count(*) AS fills, count(DISTINCT bene_mbi_id) AS beneficiaries, sum(clm_line_days_suply_qty) AS days_supply,
               sum(clm_line_bene_pmt_amt) AS beneficiaries_paid_usd
          FROM claims.final_part_d_events
         WHERE clm_line_ndc_cd IS NOT NULL
         GROUP BY organisation, clm_line_ndc_cd) AS drugs
 WHERE place <= 100
  WITH NO DATA;
CREATE UNIQUE INDEX top_drugs_key ON claims.top_drugs (organisation, clm_line_ndc_cd);
