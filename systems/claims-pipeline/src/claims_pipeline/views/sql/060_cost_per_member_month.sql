-- Dollars per member and month, by month and category: what actuaries compare organisations by.
CREATE MATERIALIZED VIEW claims.cost_per_member_month AS
SELECT cost.organisation, cost.month, cost.category, members.members, cost.paid_usd,
       round(cost.paid_usd / members.members, 2) AS paid_usd_per_member
  FROM (SELECT organisation, month, category, sum(paid_usd) AS paid_usd
          FROM claims.cost_by_month
         GROUP BY organisation, month, category) AS cost
  JOIN (SELECT organisation, month, count(*) AS members
          FROM claims.member_months
         GROUP BY organisation, month) AS members USING (organisation, month)
  WITH NO DATA;
CREATE UNIQUE INDEX cost_per_member_month_key ON claims.cost_per_member_month (organisation, month, category);
