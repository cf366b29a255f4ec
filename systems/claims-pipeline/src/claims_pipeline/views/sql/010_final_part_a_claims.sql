-- Part A claims as they stand after all corrections: one row a claim.
-- A claim is corrected by a cancellation (1) and an adjusted claim (2), which have identifiers of their own. CMS names
-- what they have in common: beneficiary, billing provider and dates of service. The newest of them is the final action;
-- on one day an adjusted claim follows the cancellation of the one before. A cancelled claim has no row.
CREATE MATERIALIZED VIEW claims.final_part_a_claims AS
SELECT organisation, cur_clm_uniq_id, bene_mbi_id, prvdr_oscar_num, clm_type_cd, clm_from_dt, clm_thru_dt,
       prncpl_dgns_cd, bene_ptnt_stus_cd, dgns_drg_cd, clm_admsn_type_cd, fac_prvdr_npi_num, clm_adjsmt_type_cd,
       clm_efctv_dt, coalesce(clm_pmt_amt, 0) AS clm_pmt_amt
  FROM (SELECT DISTINCT ON (organisation, bene_mbi_id, coalesce(clm_blg_prvdr_oscar_num, prvdr_oscar_num), clm_type_cd,
                            clm_from_dt, clm_thru_dt) *
          FROM claims.part_a_claims
         ORDER BY organisation, bene_mbi_id, coalesce(clm_blg_prvdr_oscar_num, prvdr_oscar_num), clm_type_cd,
                  clm_from_dt, clm_thru_dt, clm_adjsmt_type_cd = '0', clm_efctv_dt DESC NULLS LAST, clm_adjsmt_type_cd DESC NULLS LAST,
                  cur_clm_uniq_id DESC) AS newest
 WHERE clm_adjsmt_type_cd IS DISTINCT FROM '1'
  WITH NO DATA;
CREATE UNIQUE INDEX final_part_a_claims_key ON claims.final_part_a_claims (organisation, cur_clm_uniq_id);
CREATE INDEX final_part_a_claims_beneficiary ON claims.final_part_a_claims (organisation, bene_mbi_id);
