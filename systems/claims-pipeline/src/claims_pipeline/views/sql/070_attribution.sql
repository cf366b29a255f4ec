-- The primary-care clinician of each beneficiary: the one with most allowed charges for primary care (a plurality; it
-- need not be half). Of equals the one seen last, then the lower NPI.
-- Primary care: visits in an office, a nursing home or at home, and yearly wellness visits, by physicians of general,
-- family, internal or geriatric medicine, nurse practitioners, clinical nurse specialists and physician assistants.
CREATE MATERIALIZED VIEW claims.attribution AS
SELECT DISTINCT ON (organisation, bene_mbi_id)
       organisation, bene_mbi_id, rndrg_prvdr_npi_num, visits, allowed_usd, share, last_seen
  FROM (SELECT organisation, bene_mbi_id, rndrg_prvdr_npi_num, count(DISTINCT clm_line_from_dt) AS visits,
               sum(clm_line_alowd_chrg_amt) AS allowed_usd, max(clm_line_from_dt) AS last_seen,
               round(sum(clm_line_alowd_chrg_amt)
                     / nullif(sum(sum(clm_line_alowd_chrg_amt)) OVER (PARTITION BY organisation, bene_mbi_id), 0), 4) AS share
          FROM claims.final_part_b_lines
         WHERE (clm_line_hcpcs_cd BETWEEN '99202' AND '99215' OR clm_line_hcpcs_cd BETWEEN '99304' AND '99318'
                OR clm_line_hcpcs_cd BETWEEN '99341' AND '99350' OR clm_line_hcpcs_cd IN ('G0402', 'G0438', 'G0439'))
           AND clm_prvdr_spclty_cd IN ('01', '08', '11', '38', '50', '89', '97')
           AND rndrg_prvdr_npi_num IS NOT NULL AND bene_mbi_id IS NOT NULL
         GROUP BY organisation, bene_mbi_id, rndrg_prvdr_npi_num) AS seen
 ORDER BY organisation, bene_mbi_id, allowed_usd DESC, last_seen DESC NULLS LAST, rndrg_prvdr_npi_num
  WITH NO DATA;
CREATE UNIQUE INDEX attribution_key ON claims.attribution (organisation, bene_mbi_id);
