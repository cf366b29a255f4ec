-- Chronic conditions by ICD-10 codes: one inpatient claim, or two other claims on different days, as the Chronic
-- Conditions Warehouse of CMS counts most of them. The lists of codes are short forms of the published ones.
CREATE MATERIALIZED VIEW claims.chronic_conditions AS
WITH codes (condition, first_code, last_code) AS (
  VALUES ('alzheimer and dementia', 'F01', 'F03'), ('alzheimer and dementia', 'G30', 'G30'), ('asthma', 'J45', 'J45'),
         ('atrial fibrillation', 'I48', 'I48'), ('cancer', 'C00', 'C96'), ('chronic kidney disease', 'N18', 'N18'),
         ('copd', 'J41', 'J44'), ('depression', 'F32', 'F33'), ('diabetes', 'E08', 'E13'), ('heart failure', 'I50', 'I50'),
         ('hyperlipidemia', 'E78', 'E78'), ('hypertension', 'I10', 'I13'), ('ischemic heart disease', 'I20', 'I25'),
         ('osteoporosis', 'M80', 'M81'), ('rheumatoid and osteoarthritis', 'M05', 'M06'),
         ('rheumatoid and osteoarthritis', 'M15', 'M19'), ('stroke', 'I60', 'I63')),
diagnoses AS (
  SELECT organisation, bene_mbi_id, clm_thru_dt AS seen_on, left(prncpl_dgns_cd, 3) AS code,
         clm_type_cd IN ('60', '61') AS is_inpatient
    FROM claims.final_part_a_claims
   UNION ALL
  SELECT claim.organisation, claim.bene_mbi_id, claim.clm_thru_dt, left(diagnosis.clm_dgns_cd, 3),
         claim.clm_type_cd IN ('60', '61')
    FROM claims.final_part_a_claims AS claim
    JOIN claims.part_a_diagnoses AS diagnosis USING (organisation, cur_clm_uniq_id)
   UNION ALL
  SELECT organisation, bene_mbi_id, clm_line_from_dt, left(clm_line_dgns_cd, 3), false
    FROM claims.final_part_b_lines)
SELECT organisation, bene_mbi_id, condition, min(seen_on) AS first_seen, max(seen_on) AS last_seen,
       count(DISTINCT seen_on) AS days_seen
  FROM diagnoses
  JOIN codes ON code BETWEEN first_code AND last_code
 WHERE bene_mbi_id IS NOT NULL AND seen_on IS NOT NULL
 GROUP BY organisation, bene_mbi_id, condition
HAVING bool_or(is_inpatient) OR count(DISTINCT seen_on) >= 2
  WITH NO DATA;
CREATE UNIQUE INDEX chronic_conditions_key ON claims.chronic_conditions (organisation, bene_mbi_id, condition);
