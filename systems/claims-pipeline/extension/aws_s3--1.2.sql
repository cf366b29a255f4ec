-- The import function of RDS's extension aws_s3, for plain PostgreSQL 15 to 18.
--
-- It runs with CREATE EXTENSION, or as a script of a superuser where no file can be put beside PostgreSQL's own.
--
-- How it is safe. A program of the server's account runs for whoever imports. That needs the privileges of
-- pg_execute_server_program, which are those of the server's account: nobody gets them who imports.
--   * The role aws_s3_runner has them. It cannot log in, and owns two functions with a fixed search_path.
--   * Those functions make a foreign table of file_fdw whose program is claims-fetch, and nothing else.
--   * The import itself is an INSERT that runs as the caller. Triggers, defaults, constraints and row security of the
--     target run as the caller too. With COPY in a function of the runner, a trigger would run as the runner.
--   * Words of the command are quoted for the shell, in single quotes, whatever they contain.
--   * Keys of S3 are in the server's environment or in a file of its account, never in SQL.

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_s3_import') THEN
    CREATE ROLE rds_s3_import NOLOGIN;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'aws_s3_runner') THEN
    CREATE ROLE aws_s3_runner NOLOGIN;
  END IF;
END
$$;
GRANT pg_execute_server_program TO aws_s3_runner;

CREATE SCHEMA IF NOT EXISTS aws_s3;
REVOKE ALL ON SCHEMA aws_s3 FROM PUBLIC;
GRANT USAGE ON SCHEMA aws_s3 TO rds_s3_import, aws_s3_runner;

-- Foreign tables live here within one transaction.
CREATE SCHEMA aws_s3_streams;
REVOKE ALL ON SCHEMA aws_s3_streams FROM PUBLIC;
GRANT USAGE ON SCHEMA aws_s3_streams TO rds_s3_import;
GRANT USAGE, CREATE ON SCHEMA aws_s3_streams TO aws_s3_runner;

CREATE SERVER aws_s3_objects FOREIGN DATA WRAPPER file_fdw;
GRANT USAGE ON FOREIGN SERVER aws_s3_objects TO aws_s3_runner;

-- One row. Settings with SET would be the caller's; only a superuser changes a row here.
CREATE TABLE aws_s3.settings (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  program text NOT NULL DEFAULT 'claims-fetch',  -- a name on the server's PATH, or an absolute path
  endpoint text,                                 -- of an S3 that is not AWS's
  credentials_file text                          -- NULL: the server's environment, or ~/.aws/credentials
);
INSERT INTO aws_s3.settings DEFAULT VALUES;
REVOKE ALL ON aws_s3.settings FROM PUBLIC;
GRANT SELECT ON aws_s3.settings TO aws_s3_runner;

-- A word that the shell takes as it is. Only a quote means something within single quotes.
CREATE FUNCTION aws_s3._word(given text) RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT '''' || replace(given, '''', '''\''''') || '''' $$;

-- Options of COPY by name, in lower case. Both of its grammars: (format csv, header true) and DELIMITER ':' CSV.
CREATE FUNCTION aws_s3._options(given text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  known constant text[] := ARRAY['format', 'delimiter', 'null', 'header', 'quote', 'escape', 'encoding',
                                 'default', 'force_null', 'force_not_null'];
  value constant text := '(E?''(?:[^'']|'''')*''|[[:alnum:]_.+-]+|\*|\([^()'']*\))';
  rest text := btrim(coalesce(given, ''), E' \t\r\n');
  is_list boolean := false;
  found jsonb := '{}';
  part text[];
  name text;
BEGIN
  IF rest ~ '^\(.*\)$' THEN
    is_list := true;
    rest := btrim(substr(rest, 2, length(rest) - 2), E' \t\r\n');
  ELSE
    rest := regexp_replace(rest, '^with\s+', '', 'i');
  END IF;
  WHILE rest <> '' LOOP
    IF is_list THEN
      part := regexp_match(rest, '^([[:alpha:]_]+)(?:\s+' || value || ')?\s*(?:,\s*|$)');
    ELSE
      part := regexp_match(rest, '^(csv|binary|header)(?=\s|$)()\s*', 'i');
      IF part IS NULL THEN
        part := regexp_match(rest, '^(delimiter|null|quote|escape|encoding)\s+(?:as\s+)?' || value || '\s*', 'i');
      END IF;
    END IF;
    IF part IS NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
        MESSAGE = format('options of COPY are not understood at: %s', left(rest, 60)),
        HINT = 'Give a list in parentheses, for example (format csv, header true).';
    END IF;
    rest := CASE WHEN is_list
      THEN regexp_replace(rest, '^[[:alpha:]_]+(?:\s+' || value || ')?\s*(?:,\s*|$)', '')
      ELSE regexp_replace(rest, '^(?:(?:csv|binary|header)(?=\s|$)|(?:delimiter|null|quote|escape|encoding)\s+(?:as\s+)?'
                                || value || ')\s*', '', 'i') END;
    name := lower(part[1]);
    IF NOT is_list AND name IN ('csv', 'binary') THEN
      part[2] := name;
      name := 'format';
    END IF;
    IF name <> ALL (known) OR found ? name THEN
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
        MESSAGE = format('option %s is unknown here, or given twice', name),
        HINT = format('Options are %s.', array_to_string(known, ', '));
    END IF;
    found := found || jsonb_build_object(name, aws_s3._value(coalesce(part[2], '')));
  END LOOP;
  RETURN found;
END
$$;

-- The value of an option: without quotes, and with what E'\t' means.
CREATE FUNCTION aws_s3._value(given text) RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE
    WHEN given = '' THEN 'true'
    WHEN given LIKE 'E''%' THEN replace(replace(replace(replace(replace(replace(
      substr(given, 3, length(given) - 3), '''''', ''''), '\\', E'\x01'), '\t', E'\t'), '\n', E'\n'), '\b', E'\b'),
      E'\x01', '\')
    WHEN given LIKE '''%' THEN replace(substr(given, 2, length(given) - 2), '''''', '''')
    ELSE given END
$$;

-- Make a foreign table over the object for `reader`, and return its name and the object's size.
CREATE FUNCTION aws_s3._open(
  target regclass, columns text[], options jsonb, uri aws_commons._s3_uri_1, reader name,
  OUT stream text, OUT bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  setting aws_s3.settings;
  command text;
  tag text;
  problem text;
  definition text;
  listed text;
BEGIN
  SELECT * INTO STRICT setting FROM aws_s3.settings;
  command := aws_s3._word(setting.program) || ' --bucket ' || aws_s3._word(uri.bucket)
    || ' --key ' || aws_s3._word(uri.file_path) || ' --region ' || aws_s3._word(uri.region)
    || coalesce(' --endpoint ' || aws_s3._word(setting.endpoint), '')
    || coalesce(' --credentials ' || aws_s3._word(setting.credentials_file), '');
  IF command IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
      MESSAGE = 'bucket, file path and region are needed';
  END IF;
  stream := 'stream_' || replace(gen_random_uuid()::text, '-', '');
  EXECUTE format(
    'CREATE FOREIGN TABLE aws_s3_streams.%I (bytes bigint, etag text, problem text)
     SERVER aws_s3_objects OPTIONS (program %L, format ''csv'')', stream, command || ' --head');
  EXECUTE format('SELECT f.bytes, f.etag, f.problem FROM aws_s3_streams.%I f', stream)
    INTO bytes, tag, problem;
  EXECUTE format('DROP FOREIGN TABLE aws_s3_streams.%I', stream);
  IF tag IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'external_routine_exception',
      MESSAGE = coalesce(problem, 'claims-fetch gave no answer'),
      HINT = 'Check bucket, key and region, and the keys of the server''s account.';
  END IF;
  SELECT string_agg(
    format('%I %s%s', a.attname, format_type(a.atttypid, a.atttypmod),
      CASE WHEN options ?| ARRAY['force_null', 'force_not_null'] THEN aws_s3._forced(a.attname, options) ELSE '' END),
    ', ' ORDER BY array_position(columns, a.attname::text))
  INTO definition
  FROM pg_attribute a
  WHERE a.attrelid = target AND a.attname::text = ANY (columns);
  SELECT string_agg(format(', %I %L', o.key, o.value), '') INTO listed
  FROM jsonb_each_text(options) o
  WHERE o.key NOT IN ('force_null', 'force_not_null');
  EXECUTE format('CREATE FOREIGN TABLE aws_s3_streams.%I (%s) SERVER aws_s3_objects OPTIONS (program %L%s)',
    stream, definition, command || ' --etag ' || aws_s3._word(tag), coalesce(listed, ''));
  EXECUTE format('GRANT SELECT ON aws_s3_streams.%I TO %I', stream, reader);
END
$$;

-- Options of a column, from the lists of columns that COPY takes.
CREATE FUNCTION aws_s3._forced(column_name text, options jsonb) RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT coalesce(' OPTIONS (' || string_agg(format('%I ''true''', o.key), ', ') || ')', '')
  FROM jsonb_each_text(options) o
  WHERE o.key IN ('force_null', 'force_not_null')
    AND (o.value = '*' OR column_name = ANY (regexp_split_to_array(btrim(o.value, '() '), '\s*,\s*')))
$$;

CREATE FUNCTION aws_s3._close(stream text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ BEGIN EXECUTE format('DROP FOREIGN TABLE aws_s3_streams.%I', stream); END $$;

ALTER FUNCTION aws_s3._open(regclass, text[], jsonb, aws_commons._s3_uri_1, name) OWNER TO aws_s3_runner;
ALTER FUNCTION aws_s3._close(text) OWNER TO aws_s3_runner;

CREATE FUNCTION aws_s3.table_import_from_s3(
  table_name text, column_list text, options text, s3_info aws_commons._s3_uri_1)
RETURNS text LANGUAGE plpgsql
AS $$
DECLARE
  target pg_catalog.regclass := table_name::pg_catalog.regclass;
  chosen text[];
  opened record;
  list text;
  amount bigint;
  detail text;
BEGIN
  IF pg_catalog.btrim(coalesce(column_list, '')) = '' THEN
    SELECT pg_catalog.array_agg(a.attname::text ORDER BY a.attnum) INTO chosen
    FROM pg_catalog.pg_attribute a
    WHERE a.attrelid OPERATOR(pg_catalog.=) target AND a.attnum OPERATOR(pg_catalog.>) 0
      AND NOT a.attisdropped AND a.attgenerated OPERATOR(pg_catalog.=) '';
  ELSE
    chosen := aws_s3._columns(column_list, target);
  END IF;
  opened := aws_s3._open(target, chosen, aws_s3._options(options), s3_info, current_user);
  SELECT pg_catalog.string_agg(pg_catalog.quote_ident(c), ', ') INTO list FROM pg_catalog.unnest(chosen) c;
  BEGIN
    EXECUTE pg_catalog.format('INSERT INTO %s (%s) SELECT %s FROM aws_s3_streams.%I',
      target, list, list, opened.stream);
    GET DIAGNOSTICS amount = ROW_COUNT;
  EXCEPTION WHEN external_routine_exception THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RAISE EXCEPTION USING ERRCODE = 'external_routine_exception',
      MESSAGE = pg_catalog.format('unable to import s3://%s/%s: %s', s3_info.bucket, s3_info.file_path,
        aws_s3._reason(detail)),
      DETAIL = detail, HINT = 'Nothing was imported. The server''s log has the reason.';
  END;
  PERFORM aws_s3._close(opened.stream);
  RETURN pg_catalog.format('%s rows imported into relation "%s" from file %s of %s bytes',
    amount, table_name, s3_info.file_path, opened.bytes);
END
$$;

-- What an exit status of claims-fetch means (fetch/src/problem.rs).
CREATE FUNCTION aws_s3._reason(detail text) RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE substring(detail FROM 'exit code (\d+)')
    WHEN '2' THEN 'the server has no usable keys of S3'
    WHEN '3' THEN 'it does not exist any more'
    WHEN '4' THEN 'S3 refuses the keys'
    WHEN '5' THEN 'S3 stopped answering'
    WHEN '6' THEN 'it was replaced while it was read'
    WHEN '7' THEN 'it is no whole gzip file, although its metadata say so'
    WHEN '127' THEN 'the server does not find claims-fetch'
    ELSE 'claims-fetch ended early' END
$$;

-- The columns that a list names; an error names the first that does not exist.
CREATE FUNCTION aws_s3._columns(column_list text, target regclass) RETURNS text[] LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  chosen text[] := '{}';
  item text;
  found text;
BEGIN
  FOREACH item IN ARRAY regexp_split_to_array(column_list, ',') LOOP
    item := btrim(item, E' \t\r\n');
    SELECT a.attname INTO found FROM pg_attribute a
    WHERE a.attrelid = target AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attname = CASE WHEN item LIKE '"%"'
        THEN replace(substr(item, 2, length(item) - 2), '""', '"') ELSE lower(item) END;
    IF found IS NULL OR found = ANY (chosen) THEN
      RAISE EXCEPTION USING ERRCODE = 'undefined_column',
        MESSAGE = format('column %s does not exist in %s, or is given twice', item, target);
    END IF;
    chosen := chosen || found;
  END LOOP;
  RETURN chosen;
END
$$;

-- Keys in SQL are in pg_stat_activity and in logs. They are refused rather than used.
CREATE FUNCTION aws_s3.table_import_from_s3(
  table_name text, column_list text, options text, s3_info aws_commons._s3_uri_1,
  credentials aws_commons._aws_credentials_1)
RETURNS text LANGUAGE plpgsql
AS $$
BEGIN
  IF credentials IS DISTINCT FROM NULL
    AND (credentials).access_key IS NOT NULL AND (credentials).access_key OPERATOR(pg_catalog.<>) '' THEN
    RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
      MESSAGE = 'keys are not taken from SQL, where others can read them',
      HINT = 'Put them into the environment or a file of the server''s account, and leave the credentials out.';
  END IF;
  RETURN aws_s3.table_import_from_s3(table_name, column_list, options, s3_info);
END
$$;

CREATE FUNCTION aws_s3.table_import_from_s3(
  table_name text, column_list text, options text, bucket text, file_path text, region text,
  access_key text DEFAULT NULL, secret_key text DEFAULT NULL, session_token text DEFAULT NULL)
RETURNS text LANGUAGE sql
AS $$
  SELECT aws_s3.table_import_from_s3(table_name, column_list, options,
    aws_commons.create_s3_uri(bucket, file_path, region),
    aws_commons.create_aws_credentials(access_key, secret_key, session_token))
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA aws_s3 FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA aws_s3 TO rds_s3_import, aws_s3_runner;
