-- Fills of prescriptions after all corrections: one row a fill.
-- CMS names a fill by beneficiary, day, pharmacy, number of the prescription and number of the fill.
CREATE MATERIALIZED VIEW claims.final_part_d_events AS
SELECT organisation, cur_clm_uniq_id, bene_mbi_id, clm_line_ndc_cd, clm_line_from_dt, clm_daw_prod_slctn_cd,
       clm_line_days_suply_qty, clm_adjsmt_type_cd, clm_efctv_dt, coalesce(clm_line_srvc_unit_qty, 0) AS clm_line_srvc_unit_qty,
       coalesce(clm_line_bene_pmt_amt, 0) AS clm_line_bene_pmt_amt
  FROM (SELECT DISTINCT ON (organisation, bene_mbi_id, clm_line_from_dt, clm_srvc_prvdr_gnrc_id_num,
                            coalesce(clm_line_rx_srvc_rfrnc_num, cur_clm_uniq_id::text), clm_line_rx_fill_num) *
          FROM claims.part_d_events
         ORDER BY organisation, bene_mbi_id, clm_line_from_dt, clm_srvc_prvdr_gnrc_id_num,
                  coalesce(clm_line_rx_srvc_rfrnc_num, cur_clm_uniq_id::text), clm_line_rx_fill_num,
                  clm_adjsmt_type_cd = '0', clm_efctv_dt DESC NULLS LAST, clm_adjsmt_type_cd DESC NULLS LAST, cur_clm_uniq_id DESC) AS newest
 WHERE clm_adjsmt_type_cd IS DISTINCT FROM '1'
  WITH NO DATA;
CREATE UNIQUE INDEX final_part_d_events_key ON claims.final_part_d_events (organisation, cur_clm_uniq_id);
CREATE INDEX final_part_d_events_beneficiary ON claims.final_part_d_events (organisation, bene_mbi_id);
