-- The costliest twentieth of the beneficiaries with claims, and their share of all costs; at least one of each organisation.
CREATE MATERIALIZED VIEW claims.high_cost_beneficiaries AS
SELECT organisation, bene_mbi_id, place, paid_usd, round(paid_usd / nullif(all_usd, 0), 6) AS share
  FROM (SELECT organisation, bene_mbi_id, sum(paid_usd) AS paid_usd,
               row_number() OVER (PARTITION BY organisation ORDER BY sum(paid_usd) DESC, bene_mbi_id) AS place,
               count(*) OVER (PARTITION BY organisation) AS beneficiaries,
               sum(sum(paid_usd)) OVER (PARTITION BY organisation) AS all_usd
          FROM claims.cost_by_month
         GROUP BY organisation, bene_mbi_id) AS totals
 WHERE place <= ceil(beneficiaries / 20.0)
  WITH NO DATA;
CREATE UNIQUE INDEX high_cost_beneficiaries_key ON claims.high_cost_beneficiaries (organisation, bene_mbi_id);
