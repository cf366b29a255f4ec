-- What Medicare paid for each beneficiary, by month of service and category; of drugs, what the beneficiary paid,
-- because CCLF7 says no other amount.
CREATE MATERIALIZED VIEW claims.cost_by_month AS
SELECT organisation, bene_mbi_id, month, category, count(*) AS services, sum(amount) AS paid_usd
  FROM (SELECT organisation, bene_mbi_id, date_trunc('month', clm_thru_dt)::date AS month, clm_pmt_amt AS amount,
               CASE WHEN clm_type_cd IN ('60', '61') THEN 'inpatient'
                    WHEN clm_type_cd IN ('20', '30') THEN 'skilled nursing'
                    WHEN clm_type_cd = '40' THEN 'outpatient'
                    WHEN clm_type_cd = '10' THEN 'home health'
                    WHEN clm_type_cd = '50' THEN 'hospice'
                    ELSE 'other' END AS category
          FROM claims.final_part_a_claims
         UNION ALL
        SELECT organisation, bene_mbi_id, date_trunc('month', clm_thru_dt)::date, clm_line_cvrd_pd_amt,
               CASE WHEN clm_type_cd IN ('81', '82') THEN 'equipment' ELSE 'professional' END
          FROM claims.final_part_b_lines
         UNION ALL
        SELECT organisation, bene_mbi_id, date_trunc('month', clm_line_from_dt)::date, clm_line_bene_pmt_amt, 'drugs'
          FROM claims.final_part_d_events) AS services
 WHERE month IS NOT NULL AND bene_mbi_id IS NOT NULL
 GROUP BY organisation, bene_mbi_id, month, category
  WITH NO DATA;
CREATE UNIQUE INDEX cost_by_month_key ON claims.cost_by_month (organisation, bene_mbi_id, month, category);
