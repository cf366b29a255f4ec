-- One row a beneficiary, for care managers: who they are, who looks after them, what they have and what it costs.
CREATE MATERIALIZED VIEW claims.population AS
SELECT person.organisation, person.bene_mbi_id, person.bene_sex_cd, person.bene_age,
       coalesce(member.months, 0) AS member_months, attribution.rndrg_prvdr_npi_num AS primary_care_npi,
       coalesce(condition.conditions, 0) AS conditions, coalesce(stay.stays, 0) AS stays,
       coalesce(stay.readmissions, 0) AS readmissions, coalesce(visit.visits, 0) AS emergency_visits,
       coalesce(cost.paid_usd, 0) AS paid_usd, high.place IS NOT NULL AS is_high_cost
  FROM claims.beneficiaries AS person
  LEFT JOIN (SELECT organisation, bene_mbi_id, count(*) AS months FROM claims.member_months
              GROUP BY organisation, bene_mbi_id) AS member USING (organisation, bene_mbi_id)
  LEFT JOIN claims.attribution AS attribution USING (organisation, bene_mbi_id)
  LEFT JOIN (SELECT organisation, bene_mbi_id, count(*) AS conditions FROM claims.chronic_conditions
              GROUP BY organisation, bene_mbi_id) AS condition USING (organisation, bene_mbi_id)
  LEFT JOIN (SELECT organisation, bene_mbi_id, count(*) AS stays, count(*) FILTER (WHERE is_readmitted) AS readmissions
               FROM claims.inpatient_stays LEFT JOIN claims.readmissions USING (organisation, bene_mbi_id, admitted_on)
              GROUP BY organisation, bene_mbi_id) AS stay USING (organisation, bene_mbi_id)
  LEFT JOIN (SELECT organisation, bene_mbi_id, count(*) AS visits FROM claims.emergency_visits
              GROUP BY organisation, bene_mbi_id) AS visit USING (organisation, bene_mbi_id)
  LEFT JOIN (SELECT organisation, bene_mbi_id, sum(paid_usd) AS paid_usd FROM claims.cost_by_month
              GROUP BY organisation, bene_mbi_id) AS cost USING (organisation, bene_mbi_id)
  LEFT JOIN claims.high_cost_beneficiaries AS high USING (organisation, bene_mbi_id)
  WITH NO DATA;
CREATE UNIQUE INDEX population_key ON claims.population (organisation, bene_mbi_id);
