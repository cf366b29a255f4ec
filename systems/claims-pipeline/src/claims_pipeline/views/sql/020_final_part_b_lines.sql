-- Lines of physicians' and suppliers' claims after all corrections: one row a line.
-- A claim and its corrections share the control number of the claim (CMS) and the number of the line.
CREATE MATERIALIZED VIEW claims.final_part_b_lines AS
SELECT organisation, cur_clm_uniq_id, clm_line_num, bene_mbi_id, clm_type_cd, clm_from_dt, clm_thru_dt,
       clm_line_from_dt, clm_line_hcpcs_cd, clm_line_dgns_cd, clm_prvdr_spclty_cd, clm_pos_cd, rndrg_prvdr_npi_num,
       clm_adjsmt_type_cd, clm_efctv_dt, coalesce(clm_line_cvrd_pd_amt, 0) AS clm_line_cvrd_pd_amt,
       coalesce(clm_line_alowd_chrg_amt, 0) AS clm_line_alowd_chrg_amt
  FROM (SELECT DISTINCT ON (organisation, bene_mbi_id, coalesce(clm_cntl_num, cur_clm_uniq_id::text), clm_line_num) *
          FROM claims.part_b_lines
         ORDER BY organisation, bene_mbi_id, coalesce(clm_cntl_num, cur_clm_uniq_id::text), clm_line_num,
                  clm_adjsmt_type_cd = '0', clm_efctv_dt DESC NULLS LAST, clm_adjsmt_type_cd DESC NULLS LAST, cur_clm_uniq_id DESC) AS newest
 WHERE clm_adjsmt_type_cd IS DISTINCT FROM '1'
  WITH NO DATA;
CREATE UNIQUE INDEX final_part_b_lines_key ON claims.final_part_b_lines (organisation, cur_clm_uniq_id, clm_line_num);
CREATE INDEX final_part_b_lines_beneficiary ON claims.final_part_b_lines (organisation, bene_mbi_id);
