-- The months in which a beneficiary was enrolled in Part A or Part B and alive on the first day, from the first to the
-- last month for which the organisation has claims.
CREATE MATERIALIZED VIEW claims.member_months AS
WITH spans AS (
  SELECT organisation, min(month) AS first_month, max(month) AS last_month
    FROM claims.cost_by_month
   GROUP BY organisation)
SELECT person.organisation, person.bene_mbi_id, month::date AS month,
       coalesce(person.bene_part_a_enrlmt_bgn_dt <= month, false) AS has_part_a,
       coalesce(person.bene_part_b_enrlmt_bgn_dt <= month, false) AS has_part_b,
       coalesce(person.bene_dual_stus_cd NOT IN ('00', 'NA'), false) AS is_dual
  FROM claims.beneficiaries AS person
  JOIN spans USING (organisation)
 CROSS JOIN LATERAL generate_series(spans.first_month::timestamp, spans.last_month, interval '1 month') AS month
 WHERE month >= least(person.bene_part_a_enrlmt_bgn_dt, person.bene_part_b_enrlmt_bgn_dt)
   AND (person.bene_death_dt IS NULL OR month <= person.bene_death_dt)
  WITH NO DATA;
CREATE UNIQUE INDEX member_months_key ON claims.member_months (organisation, bene_mbi_id, month);
