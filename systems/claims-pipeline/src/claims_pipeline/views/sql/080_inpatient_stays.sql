-- Stays in hospital, put together from claims: a claim that begins on the day on which another of the same beneficiary
-- ends, or the day after, belongs to the same stay (interim bills and transfers).
CREATE MATERIALIZED VIEW claims.inpatient_stays AS
WITH marked AS (
  SELECT *, coalesce(clm_from_dt > max(clm_thru_dt) OVER before + 1, true) AS is_first
    FROM claims.final_part_a_claims
   WHERE clm_type_cd IN ('60', '61') AND clm_from_dt IS NOT NULL AND clm_thru_dt IS NOT NULL AND bene_mbi_id IS NOT NULL
  WINDOW before AS (PARTITION BY organisation, bene_mbi_id ORDER BY clm_from_dt, clm_thru_dt, cur_clm_uniq_id
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
numbered AS (
  SELECT *, sum(is_first::int) OVER (PARTITION BY organisation, bene_mbi_id
                                     ORDER BY clm_from_dt, clm_thru_dt, cur_clm_uniq_id) AS stay
    FROM marked)
SELECT organisation, bene_mbi_id, min(clm_from_dt) AS admitted_on, max(clm_thru_dt) AS discharged_on,
       greatest(max(clm_thru_dt) - min(clm_from_dt), 1) AS days, count(*) AS claims,
       count(DISTINCT prvdr_oscar_num) AS hospitals, sum(clm_pmt_amt) AS paid_usd,
       (array_agg(dgns_drg_cd ORDER BY clm_thru_dt DESC, cur_clm_uniq_id DESC))[1] AS drg,
       (array_agg(prncpl_dgns_cd ORDER BY clm_from_dt, cur_clm_uniq_id))[1] AS diagnosis,
       (array_agg(bene_ptnt_stus_cd ORDER BY clm_thru_dt DESC, cur_clm_uniq_id DESC))[1] AS discharge_status
  FROM numbered
 GROUP BY organisation, bene_mbi_id, stay
  WITH NO DATA;
CREATE UNIQUE INDEX inpatient_stays_key ON claims.inpatient_stays (organisation, bene_mbi_id, admitted_on);
