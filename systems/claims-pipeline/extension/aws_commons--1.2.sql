-- The types and functions of RDS's extension aws_commons, in plain SQL.
-- It runs with CREATE EXTENSION, or as a script of a superuser where no file can be put beside PostgreSQL's own.

CREATE SCHEMA IF NOT EXISTS aws_commons;
GRANT USAGE ON SCHEMA aws_commons TO PUBLIC;

CREATE TYPE aws_commons._s3_uri_1 AS (bucket text, file_path text, region text);
CREATE TYPE aws_commons._aws_credentials_1 AS (access_key text, secret_key text, session_token text);

CREATE FUNCTION aws_commons.create_s3_uri(s3_bucket text, s3_key text, aws_region text)
RETURNS aws_commons._s3_uri_1 LANGUAGE sql IMMUTABLE
AS $$ SELECT ROW(s3_bucket, s3_key, aws_region)::aws_commons._s3_uri_1 $$;

CREATE FUNCTION aws_commons.create_aws_credentials(access_key text, secret_key text, session_token text)
RETURNS aws_commons._aws_credentials_1 LANGUAGE sql IMMUTABLE
AS $$ SELECT ROW(access_key, secret_key, session_token)::aws_commons._aws_credentials_1 $$;
