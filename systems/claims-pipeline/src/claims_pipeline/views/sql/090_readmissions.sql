-- Stays from which a beneficiary went home alive, and whether one began within 30 days of it.
-- A discharge status of 20 is a death, 30 is a patient who is still there.
CREATE MATERIALIZED VIEW claims.readmissions AS
SELECT organisation, bene_mbi_id, admitted_on, discharged_on, drg, next_admitted_on,
       next_admitted_on - discharged_on AS days_until_next,
       coalesce(next_admitted_on - discharged_on <= 30, false) AS is_readmitted
  FROM (SELECT *, lead(admitted_on) OVER (PARTITION BY organisation, bene_mbi_id ORDER BY admitted_on) AS next_admitted_on
          FROM claims.inpatient_stays) AS stays
 WHERE coalesce(discharge_status NOT IN ('20', '30'), true)
  WITH NO DATA;
CREATE UNIQUE INDEX readmissions_key ON claims.readmissions (organisation, bene_mbi_id, admitted_on);
