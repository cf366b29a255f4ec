-- Visits to an emergency department: revenue centres 0450 to 0459 and 0981, one visit a beneficiary, hospital and day.
-- A visit on an inpatient claim led to the admission.
CREATE MATERIALIZED VIEW claims.emergency_visits AS
SELECT claim.organisation, claim.bene_mbi_id, claim.prvdr_oscar_num, claim.clm_from_dt AS visited_on,
       bool_or(claim.clm_type_cd IN ('60', '61')) AS is_admitted, count(*) AS lines,
       coalesce(sum(line.clm_line_cvrd_pd_amt), 0) AS paid_usd
  FROM claims.final_part_a_claims AS claim
  JOIN claims.part_a_lines AS line USING (organisation, cur_clm_uniq_id)
 WHERE (line.clm_line_prod_rev_ctr_cd BETWEEN '0450' AND '0459' OR line.clm_line_prod_rev_ctr_cd = '0981')
   AND claim.clm_type_cd IN ('40', '60', '61') AND claim.bene_mbi_id IS NOT NULL AND claim.clm_from_dt IS NOT NULL
 GROUP BY claim.organisation, claim.bene_mbi_id, claim.prvdr_oscar_num, claim.clm_from_dt
  WITH NO DATA;
CREATE UNIQUE INDEX emergency_visits_key
    ON claims.emergency_visits (organisation, bene_mbi_id, prvdr_oscar_num, visited_on);
